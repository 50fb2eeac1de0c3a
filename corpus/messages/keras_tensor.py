"""ValueError: A KerasTensor is symbolic: it's a placeholder for a shape an a dtype. It doesn't have any actual numerical value.

A functional Keras model is built from placeholders. A `tf.function` cannot take them.
"""
import tensorflow as tf


@tf.function
def doubled(x):
    return tf.add(x, x)  # TR311


inputs = tf.keras.Input((3,))
outputs = doubled(inputs)
