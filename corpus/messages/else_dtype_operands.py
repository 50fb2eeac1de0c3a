"""TypeError: Input 'y' of 'Maximum' Op has type float64 that does not match type float32 of argument 'x'.

A Python float to the left of a tensor becomes float32, whatever the dtype of the tensor is.
"""
import tensorflow as tf


@tf.function
def positive(x):
    return tf.maximum(0.0, x)  # TR330


positive(tf.ones([3], tf.float64))
