"""InvalidArgumentError: ... Incompatible shapes: [2,3] vs. [2,4] [Op:Sub]

In a graph the same fault reads `ValueError: Dimensions must be equal`.
"""
import tensorflow as tf

predicted = tf.ones([2, 3])
target = tf.ones([2, 4])
error = tf.reduce_mean((predicted - target) ** 2)  # TR401
