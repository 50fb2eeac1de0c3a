"""TypeError: Expected int32, but got None of type 'NoneType'.

`x.shape[0]` is None while a function is traced if the size is not fixed.
"""
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
def start(x):
    return tf.zeros((x.shape[0], 3))  # TR309


start(tf.ones([2, 4]))
