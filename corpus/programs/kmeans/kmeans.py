"""k-means until nothing moves, and a table of initialisers."""

import numpy as np
import tensorflow as tf


def first_points(points, k):
    return points[:k]


def spread_points(points, k):
    order = tf.argsort(tf.reduce_sum(points, axis=1))
    return tf.gather(points, order[:: points.shape[0] // k][:k])


INITIALISERS = {"first": first_points, "spread": spread_points}


def distances(points, centroids):
    difference = points[:, tf.newaxis, :] - centroids[tf.newaxis, :, :]
    return tf.reduce_sum(tf.square(difference), axis=2)


def update(points, centroids):
    """Assign, average; an empty cluster stays where it is."""
    squared = distances(points, centroids)
    nearest = tf.argmin(squared, axis=1, output_type=tf.int32)
    k = tf.shape(centroids)[0]
    sums = tf.math.unsorted_segment_sum(points, nearest, k)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(points[:, :1]), nearest, k)
    moved = tf.where(counts > 0.0, sums / tf.maximum(counts, 1.0), centroids)
    shift = tf.reduce_max(tf.norm(moved - centroids, axis=1))
    inertia = tf.reduce_sum(tf.reduce_min(squared, axis=1))
    return moved, shift, inertia


def fit(points, k, initialiser="first", tolerance=1e-4):
    centroids = INITIALISERS[initialiser](points, k)
    steps = 0
    while steps < 200:
        centroids, shift, inertia = update(points, centroids)
        steps += 1
        if float(shift) < tolerance:
            break
    return centroids, inertia, steps


def main():
    rng = np.random.RandomState(71)
    best = None
    for trial in range(12):
        points = tf.constant(rng.normal(0, 1, (200, 2)) + 3.0 * rng.randint(0, 2, (200, 1)), tf.float32)
        for name in ("first", "spread"):
            _, inertia, steps = fit(points, 5, name)
            best = float(inertia) if best is None else min(best, float(inertia))
    print(f"best {best:.1f}")


if __name__ == "__main__":
    main()
