"""Decisions that only bellman, larq and tensorflow-recommenders show among the packages of the corpus: methods of
temporary objects, symbolic tensors of Keras, an exception that decides, equal arguments of different types, variables
as arguments, and a number that callers get as a tensor.
"""

import keras
import tensorflow as tf


class Quantizer:
    def __init__(self, scale):
        self.scale = scale

    def quantized(self, x):
        for _ in range(20):
            x = tf.tanh(x * self.scale)
        return x


def quantize(x: tf.Tensor):
    for _ in range(100):
        x = Quantizer(0.5).quantized(x)
    return x


dense = keras.layers.Dense(2)


def head(x):
    for _ in range(20):
        x = dense(x)
    return x


inputs = keras.Input([2])
model = keras.Model(inputs, head(inputs))


def updated(x, weights):
    for _ in range(20):
        x = tf.tanh(x)
    for weight in weights:
        weight.assign_sub(0.1 * tf.reduce_sum(x) * weight)
    return x


def train(x: tf.Tensor):
    for _ in range(100):
        x = updated(x, model.trainable_variables)
    return x


def power(x, order):
    for _ in range(20):
        x = tf.tanh(x)
    return x**order if isinstance(order, int) else tf.abs(x) ** order


def powers(x: tf.Tensor):
    for _ in range(100):
        x = power(x, 3) + power(x, 3.0)
    return x


@tf.function
def row(x, number):
    if number >= x.shape[0]:
        raise IndexError(number)
    return x[number] * 2.0


def rows():
    found = []
    for number in range(3):
        try:
            found.append(row(tf.ones([2]), number))
        except LookupError:
            found.append(tf.zeros([]))
    return found


rows()


def penalty(x: tf.Tensor, active: bool):
    total = tf.reduce_sum(x)
    for _ in range(20):
        total = tf.tanh(total)
    if active:
        return total
    return 0.0
