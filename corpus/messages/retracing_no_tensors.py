"""5 out of the last 5 calls to <function ...> triggered tf.function retracing. Tracing is expensive and the excessive number of tracings could be due to ... (3) passing Python objects instead of tensors. For (1), ...

A function that takes no tensor at all is traced for every new combination of its arguments.
"""
import tensorflow as tf


@tf.function  # TR503
def waves(seconds):
    return tf.sin(tf.range(0.0, seconds, 0.1))


for number in range(6):
    waves(0.5 + number)
