"""5 out of the last 5 calls to <function ...> triggered tf.function retracing. Tracing is expensive and the excessive number of tracings could be due to ... (3) passing Python objects instead of tensors.

A Python number is part of the key under which a graph is kept: every new value is traced.
"""
import tensorflow as tf


@tf.function
def step(x, rate):
    return x - rate * tf.tanh(x)


for number in range(6):
    result = step(tf.ones([3]), number / 10)  # TR201
