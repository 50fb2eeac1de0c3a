"""A decision that only a large package shows: a function that is safe as a graph, and pays off."""

import tensorflow as tf


def smoothed(x):
    for _ in range(20):
        x = tf.tanh(x) * 0.5 + tf.sin(x)
    return x


total = tf.zeros([8])
for _ in range(5000):
    total += smoothed(tf.ones([8]))
