"""The normal equation with a target that is a vector."""
import numpy as np
import tensorflow as tf


def least_squares(X, y):
    xt = tf.transpose(X)
    return tf.matmul(tf.linalg.inv(tf.matmul(xt, X)), tf.matmul(xt, y[:, tf.newaxis]))


rng = np.random.default_rng(1)
X = tf.constant(rng.normal(size=(30, 4)))
y = tf.constant(rng.normal(size=30))
print(least_squares(X, y).shape)
