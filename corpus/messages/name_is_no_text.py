"""TypeError: expected string or bytes-like object, got 'DType'

An argument stands where the operation takes its `name`. Eager operations ignore it.
"""
import tensorflow as tf


@tf.function
def root(x):
    return tf.sqrt(x, tf.float32)  # TR312


root(tf.ones([3]))
