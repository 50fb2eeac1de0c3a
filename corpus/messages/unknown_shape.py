"""ValueError: 'images' contains no shape.

The result of `tf.py_function` or `tf.numpy_function` has no static shape, and this operation needs the rank.
"""
import tensorflow as tf


@tf.function
def resized(x):
    image = tf.numpy_function(lambda a: a, [x], tf.float32)
    return tf.image.resize(image, [4, 4])  # TR406


resized(tf.ones([8, 8, 3]))
