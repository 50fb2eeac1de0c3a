"""Decisions that only GPflow shows among the packages of the corpus: an argument that a graph rebuilds, the assumption
that there is none, branches of a graph with different structures, and a container of unknown content indexed by a
tensor.
"""

import tensorflow as tf
import tensorflow_probability as tfp


class Positive(tfp.util.TransformedVariable):
    def __init__(self, value):
        super().__init__(value, tfp.bijectors.Exp())
        self.prior = 2.0


def weighted(x, scale):
    for _ in range(20):
        x = tf.tanh(x * scale)
    return x


def smoothed(x: tf.Tensor, scale: tf.Tensor | Positive):
    for _ in range(20):
        x = tf.tanh(x * scale)
    return x


def halves(x: tf.Tensor):
    if tf.reduce_sum(x) > 0.0:
        return x, x
    return x, x, x


def use(x: tf.Tensor):
    scale = Positive(1.0)
    for _ in range(100):
        x = weighted(x, scale)
    return x


class Routed:
    def __init__(self, tables):
        self.tables = tables

    def chosen(self, x: tf.Tensor):
        for _ in range(20):
            x = tf.tanh(x)
        return x * self.tables[tf.argmax(x)]
