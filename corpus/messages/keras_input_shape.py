"""ValueError: Exception encountered when calling Sequential.call(). Input 0 ... of layer ... is incompatible with the layer: expected axis -1 of input shape to have value 3, but received input with shape (2, 4)

A Keras layer was built for inputs of another size.
"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
model(tf.ones([2, 4]))  # TR401
