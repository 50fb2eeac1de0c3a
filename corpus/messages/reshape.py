"""InvalidArgumentError: ... Input to reshape is a tensor with 12 values, but the requested shape requires a multiple of 5

"""
import tensorflow as tf

x = tf.ones([3, 4])
y = tf.reshape(x, [-1, 5])  # TR401
