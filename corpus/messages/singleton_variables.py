"""ValueError: tf.function only supports singleton tf.Variables created on the first call

Older releases say `tf.function-decorated function tried to create variables on non-first call`.
"""
import tensorflow as tf


@tf.function
def layer(x):
    w = tf.Variable(tf.ones([3, 2]))  # TR603
    return x @ w


layer(tf.ones([1, 3]))
