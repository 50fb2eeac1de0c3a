"""ValueError: 'y' must also be initialized in the else branch

AutoGraph turns an `if` on a tensor into `tf.cond`, whose branches must define the same variables.
"""
import tensorflow as tf


@tf.function
def clipped(x):
    if tf.reduce_sum(x) > 10.0:  # TR306
        y = x / 10.0
    return y


clipped(tf.fill([3], 5.0))
