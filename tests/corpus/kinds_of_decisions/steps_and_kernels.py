"""Decisions that only OpenNMT-tf and nobrainer show among the packages of the corpus: a loss that Keras traces itself, methods with unknown
overrides, a recursion, an operation whose result is unused, dtypes that do not fit, and predictions one by one."""

import abc

import keras
import tensorflow as tf


class Trained(keras.Model):
    def compute_loss(self, x: tf.Tensor, y: tf.Tensor):
        for _ in range(20):
            x = tf.tanh(x)
        return tf.reduce_mean(tf.square(x - y))


class Kernel(abc.ABC):
    @abc.abstractmethod
    def k(self, x): ...

    def scaled(self, x):
        for _ in range(20):
            x = tf.tanh(x)
        return tf.exp(x) * self.k(x)


class Leaf:
    def run(self, x):
        return x + 1.0


class Node:
    def __init__(self, inner):
        self.inner = inner

    def run(self, x):
        return self.inner.run(x) * 2.0


tree = Node(Node(Leaf()))


def deep(x: tf.Tensor):
    for _ in range(20):
        x = tf.tanh(x)
    return tree.run(x)


def counted(labels: tf.Tensor):
    tf.gather(tf.range(3), labels)
    for _ in range(20):
        labels = labels * labels + labels
    return tf.reduce_sum(labels)


def mixed():
    return tf.ones([3]) + tf.ones([3], tf.int32)


def one_by_one(data):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
    return [model.predict(tf.expand_dims(data[row], 0), verbose=0) for row in range(4)]


def use(kernel: Kernel, x: tf.Tensor):
    one_by_one(tf.ones([4, 3]))
    deep(x)
    counted(tf.constant([1, 7]))
    return kernel.scaled(x)
