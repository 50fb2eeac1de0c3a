"""TypeError: '<' not supported between instances of 'int' and 'str'

TensorFlow sorts the keys of a dict that is an argument.
"""
import tensorflow as tf


@tf.function
def step(features):
    return features["a"] + features[1]  # TR328


step({"a": tf.constant(1.0), 1: tf.constant(2.0)})
