"""One-hot encoding of a column gives an axis too many."""
import numpy as np
import tensorflow as tf


def to_one_hot(labels):
    return tf.one_hot(labels, depth=5)


def cross_entropy(labels, probabilities):
    return -tf.reduce_mean(tf.reduce_sum(labels * tf.math.log(probabilities), axis=-1))  # BUG silent: (12, 1, 5) * (12, 5)


labels = np.arange(12).reshape(12, 1) % 5
scores = tf.reshape(tf.range(60, dtype=tf.float32), [12, 5]) ** 0.5
print(cross_entropy(to_one_hot(labels), tf.nn.softmax(scores * scores % 3.0)))
