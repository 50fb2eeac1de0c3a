"""Rows are normalised by statistics that lost their axis."""
import tensorflow as tf


def standardize(x):
    mean = tf.reduce_mean(x, axis=1, keepdims=True)
    std = tf.math.reduce_std(x, axis=1, keepdims=True)
    return (x - mean) / (std + 1e-6)


print(standardize(tf.random.normal([32, 10])).shape)
