"""A training loop whose loss compares a column with a row."""
import numpy as np
import tensorflow as tf

dense = tf.keras.layers.Dense(1, kernel_initializer="ones")


def mse(y_true, y_pred):
    return tf.reduce_mean(tf.square(y_true - tf.squeeze(y_pred, axis=-1)))


def evaluate(x, y):
    return mse(y, dense(x))


x = np.linspace(0, 1, 30, dtype=np.float32).reshape(10, 3)
y = x.sum(axis=1)
print(evaluate(tf.constant(x), tf.constant(y)))
