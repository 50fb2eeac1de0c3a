"""ValueError: as_list() is not defined on an unknown TensorShape.

A `tf.TensorSpec(None)` in the `input_signature` leaves the rank open, and a layer needs it.
"""
import tensorflow as tf

layer = tf.keras.layers.Dense(2)


@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])  # TR602
def apply(x):
    return layer(x)


apply(tf.ones([2, 3]))
