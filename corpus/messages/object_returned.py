"""TypeError: To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None values

A graph returns tensors, structures of them, and None. Everything else must be made by the caller.
"""
import tensorflow as tf


class Result:
    def __init__(self, loss):
        self.loss = loss


@tf.function
def step(x):
    return Result(tf.reduce_mean(x))  # TR318


step(tf.ones([3]))
