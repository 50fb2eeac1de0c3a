"""K-nearest neighbours and k-means without Keras, on NumPy data, with loops that the data ends."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(11)


def blobs(per_class, centers, spread=0.3):
    points, labels = [], []
    for index, center in enumerate(centers):
        points.append(center + spread * rng.standard_normal((per_class, len(center))))
        labels.append(np.full(per_class, index))
    return np.concatenate(points).astype(np.float32), np.concatenate(labels)


def standardize(data):
    mean, std = data.mean(axis=0), data.std(axis=0)
    return (data - mean) / np.maximum(std, 1e-6)


def pairwise_distances(a, b):
    return tf.norm(a[:, tf.newaxis, :] - b[tf.newaxis, :, :], axis=-1)


def vote(labels, classes):
    counts = tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int32), axis=1)
    return tf.argmax(counts, axis=1, output_type=tf.int32)


def knn(train, labels, queries, k=3):
    distances = pairwise_distances(queries, train)
    _, indices = tf.math.top_k(-distances, k=k)
    return vote(tf.gather(labels, indices), int(labels.max()) + 1)


def assign(points, centroids):
    return tf.argmin(pairwise_distances(points, centroids), axis=1)


def update(points, assignment, k):
    sums = tf.math.unsorted_segment_sum(points, assignment, k)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(assignment, tf.float32), assignment, k)
    return tf.math.divide_no_nan(sums, counts[:, None])


def kmeans(points, k, limit=20):
    centroids = tf.identity(points[:: len(points) // k][:k])
    for _ in range(limit):
        assignment = assign(points, centroids)
        moved = update(points, assignment, k)
        if tf.reduce_max(tf.abs(moved - centroids)) < 1e-4:
            break
        centroids = moved
    return centroids, assignment


points, labels = blobs(15, [(0.0, 0.0), (3.0, 3.0), (0.0, 4.0)])
points = standardize(points)
order = rng.permutation(len(points))
train, test = order[:30], order[30:]
predicted = knn(points[train], labels[train], points[test])
print("accuracy", np.mean(predicted.numpy() == labels[test]))
centroids, assignment = kmeans(points, 3)
print(centroids.shape, np.bincount(assignment.numpy()))
