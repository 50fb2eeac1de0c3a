"""The heat equation on a grid, explicit and implicit, in plain TensorFlow."""

import numpy as np
import tensorflow as tf


def laplacian(u):
    return (
        tf.roll(u, 1, axis=0) + tf.roll(u, -1, axis=0) + tf.roll(u, 1, axis=1) + tf.roll(u, -1, axis=1) - 4.0 * u
    )


def explicit_step(u, rate):
    return u + rate * laplacian(u)


def advance(u, rate, substeps=10):
    for _ in range(substeps):
        u = explicit_step(u, rate)
    return u


def implicit_step(u, rate, iterations=20):
    """Jacobi iterations for (1 - rate L) v = u."""
    v = u
    for _ in range(iterations):
        neighbours = laplacian(v) + 4.0 * v
        v = (u + rate * neighbours) / (1.0 + 4.0 * rate)
    return v


def energy(u):
    dx = u - tf.roll(u, 1, axis=0)
    dy = u - tf.roll(u, 1, axis=1)
    return 0.5 * tf.reduce_sum(tf.square(dx) + tf.square(dy))


def simulate(u, frames):
    log = []
    for frame in range(frames):
        u = advance(u, 0.1)
        u = implicit_step(u, tf.constant(0.3))
        log.append(energy(u).numpy())
        if frame % 20 == 0:
            print(f"frame {frame}: energy {log[-1]:.4f}")
    return u, log


def main():
    rng = np.random.RandomState(61)
    start = tf.constant(rng.uniform(0, 1, (24, 24)), tf.float32)
    final, log = simulate(start, 80)
    print("mean kept", abs(float(tf.reduce_mean(final) - tf.reduce_mean(start))) < 1e-3, "falls", log[-1] < log[0])


if __name__ == "__main__":
    main()
