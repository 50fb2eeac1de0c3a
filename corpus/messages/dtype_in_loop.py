"""TypeError: 'y' has dtype int32 before the loop, but dtype float32 after one iteration

The variables of a `tf.while_loop` keep their dtypes; a sum that starts as the Python number 0 is an int32.
"""
import tensorflow as tf


@tf.function
def total(x):
    y = 0
    for value in x:  # TR307
        y = tf.cast(y, tf.float32) + value
    return y


total(tf.ones([3]))
