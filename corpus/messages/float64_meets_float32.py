"""TypeError: Input 'y' of 'Mul' Op has type float64 that does not match type float32 of argument 'x'.

Eagerly `tensor * array` converts the array. A `tf.function` makes a tensor of each array argument first, and NumPy's default is float64.
"""
import numpy as np
import tensorflow as tf


@tf.function
def weighted(x, weights):
    return x * weights  # TR310


weighted(tf.ones([3]), np.ones(3))
