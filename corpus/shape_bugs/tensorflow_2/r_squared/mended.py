"""A coefficient of determination that is far too low, since its parts were broadcast."""
import numpy as np
import tensorflow as tf


def r_squared(y_true, y_pred):
    residual = tf.reduce_sum(tf.square(y_true - y_pred[:, None]))
    total = tf.reduce_sum(tf.square(y_true - tf.reduce_mean(y_true)))
    return 1.0 - residual / total


targets = tf.constant(np.linspace(0.0, 5.0, 25).reshape(-1, 1), tf.float32)
predictions = tf.constant(np.linspace(0.1, 4.9, 25), tf.float32)
print(r_squared(targets, predictions))
