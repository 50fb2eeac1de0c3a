"""ValueError: 'Tensor("x:0", shape=(), dtype=float32)' is not a valid root scope name.

An f-string of a tensor is made once, while the function is traced, and does not hold its value.
"""
import tensorflow as tf


@tf.function
def named(x):
    return tf.identity(x + 1.0, name=f"{x}")  # TR325


named(tf.constant(1.0))
