"""TypeError: 'y' has dtype float32 in the main branch, but dtype int32 in the else branch

The branches of a `tf.cond` must give the same dtypes.
"""
import tensorflow as tf


@tf.function
def mean(x):
    if tf.size(x) > 0:  # TR306
        y = tf.reduce_mean(x)
    else:
        y = 0
    return y


mean(tf.ones([3]))
