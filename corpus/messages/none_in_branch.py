"""ValueError: 'y' is None at the end of the else branch.

The branches of a `tf.cond` must give tensors; None is not one.
"""
import tensorflow as tf


@tf.function
def positive(x):
    y = None
    if tf.reduce_sum(x) > 0.0:  # TR306
        y = x * 2.0
    return y


positive(tf.ones([3]))
