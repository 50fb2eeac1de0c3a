"""ValueError: Dimensions must be equal, but are 3 and 4 for ...

Eagerly the same fault reads `InvalidArgumentError: ... required broadcastable shapes`.
"""
import tensorflow as tf


@tf.function
def error(predicted, target):
    return tf.reduce_mean((predicted - target) ** 2)  # TR401


error(tf.ones([2, 3]), tf.ones([2, 4]))
