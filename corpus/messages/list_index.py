"""TypeError: list indices must be integers or slices, not SymbolicTensor

A graph has no value for the tensor while it is traced, so it cannot choose from a Python list.
"""
import tensorflow as tf

rates = [0.1, 0.01, 0.001]


@tf.function
def rate(step):
    return tf.constant(1.0) * rates[step]  # TR319


rate(tf.constant(1))
