"""A decision that only DeepCTR shows among the packages of the corpus: a program that disables eager execution."""

import tensorflow as tf

tf.compat.v1.disable_eager_execution()


def deep(x: tf.Tensor):
    for _ in range(20):
        x = tf.tanh(x)
    return x


deep(tf.ones([3]))
