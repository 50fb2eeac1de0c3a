"""Predicted classes of a model with a single sigmoid unit are taken by argmax."""
import numpy as np
import tensorflow as tf

inputs = tf.keras.Input(shape=(4,))
hidden = tf.keras.layers.Dense(8, activation="relu", kernel_initializer="ones")(inputs)
outputs = tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer="ones")(hidden)
model = tf.keras.Model(inputs, outputs)


def predicted_classes(model, x):
    probabilities = model(x)
    return tf.cast(probabilities[:, 0] > 0.5, tf.int64)


print(predicted_classes(model, np.linspace(0, 1, 20, dtype=np.float32).reshape(5, 4)))
