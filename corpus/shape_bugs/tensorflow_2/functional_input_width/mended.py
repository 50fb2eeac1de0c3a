"""A functional model is called on features of another width than its input."""
import numpy as np
import tensorflow as tf
from tensorflow import keras


def make_model(n):
    inputs = keras.Input(shape=(n,))
    x = keras.layers.Dense(16, activation="relu")(inputs)
    x = keras.layers.Dropout(0.2)(x)
    return keras.Model(inputs, keras.layers.Dense(2)(x))


def add_bias_column(x):
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


table = np.random.rand(30, 13)
model = make_model(14)
print(model(add_bias_column(table)).shape)
