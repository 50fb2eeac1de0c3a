"""Validation data whose labels are those of the training set."""
import numpy as np
import tensorflow as tf


def make_data(n):
    return np.random.rand(n, 12).astype("float32"), np.random.randint(0, 2, n).astype("float32")


def train(model, x, y, x_val, y_val):
    return model.fit(x, y, validation_data=(x_val, y_val), epochs=1, verbose=0)


x_train, y_train = make_data(80)
x_val, y_val = make_data(20)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
train(model, x_train, y_train, x_val, y_val)
