"""Decisions that only ashpy, t3f and GPflow show among the packages of the corpus: arguments of which few values, the
same object, or tensors in keywords are assumed, a file that is written, a size that depends on the content of a tensor,
and a returned value of which only is known that it is no tensor.
"""

from statistics import NormalDist

import tensorflow as tf


def scaled(x: tf.Tensor, power: int):
    for _ in range(20):
        x = tf.tanh(x)
    return x**power


class Settings:
    def __init__(self):
        self.scale = 2.0


def configured(x: tf.Tensor, settings: Settings):
    for _ in range(20):
        x = tf.tanh(x * settings.scale)
    return x


def summed(x: tf.Tensor, **parts):
    for _ in range(20):
        x = tf.tanh(x)
    return x + parts["first"] + parts["second"]


def saved(x: tf.Tensor, path: str):
    for _ in range(20):
        x = tf.tanh(x)
    with open(path, "w") as stream:
        stream.write("done")
    return x


def mean_of_positive(x: tf.Tensor):
    for _ in range(20):
        x = tf.tanh(x)
    positive = x[x > 0.0]
    return tf.reduce_sum(positive) / float(positive.shape[0])


def use(x: tf.Tensor, path: str):
    saved(x, path)
    return mean_of_positive(x)


def interval(x: tf.Tensor):
    for _ in range(20):
        x = tf.tanh(x)
    return {"mean": x, "width": NormalDist().inv_cdf(0.975)}
