"""NotImplementedError: Cannot convert a symbolic tf.Tensor (...) to a numpy array

NumPy, SciPy, pandas, PIL and OpenCV need values; a tensor inside a `tf.function` has none.
"""
import numpy as np
import tensorflow as tf


@tf.function
def error(x, y):
    return np.mean(x - y)  # TR302


error(tf.ones([3]), tf.zeros([3]))
