"""TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'

`x.shape[0]` is None while a function is traced if the size is not fixed.
"""
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
def flat(x):
    return tf.reshape(x, [x.shape[0] * 4])  # TR309


flat(tf.ones([3, 4]))
