"""TypeError: Expected any non-tensor type, but got a tensor instead.

`tf.constant` takes Python values and arrays. Use `tf.stack` or `tf.convert_to_tensor`.
"""
import tensorflow as tf


@tf.function
def pair(x):
    return tf.constant([x, 1.0])  # TR319


pair(tf.constant(2.0))
