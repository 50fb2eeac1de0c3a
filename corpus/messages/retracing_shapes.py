"""5 out of the last 5 calls to <function ...> triggered tf.function retracing. Tracing is expensive and the excessive number of tracings could be due to ... (2) passing tensors with different shapes, ...

Without `reduce_retracing=True` or an `input_signature`, every new shape is traced.
"""
import tensorflow as tf


@tf.function  # TR202
def encode(words):
    return tf.reduce_sum(tf.tanh(words))


for length in (3, 5, 7, 9, 11, 13):
    result = encode(tf.ones([length, 8]))
