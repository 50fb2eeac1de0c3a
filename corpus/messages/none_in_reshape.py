"""ValueError: None values not supported.

`x.shape[0]` is None while a function is traced if the size is not fixed.
"""
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
def mean(x):
    return tf.reduce_sum(x) / tf.cast(x.shape[0], tf.float32)  # TR309


mean(tf.ones([2, 4]))
