"""ValueError: ... should not modify its Python input arguments. Modifying a copy is allowed

A traced function may not change a list or dict that is an argument or a default. Where TensorFlow does not notice, the change happens
once, while the function is traced.
"""
import tensorflow as tf


@tf.function
def remember(x, seen=[]):
    seen.append(1)  # TR317
    return x * 2.0


remember(tf.ones([3]))
