"""5 out of the last 5 calls to <function ...> triggered tf.function retracing. Tracing is expensive and the excessive number of tracings could be due to (1) creating @tf.function repeatedly in a loop, ...

Each `tf.function(...)`, and each execution of a decorated `def`, starts without graphs.
"""
import tensorflow as tf


def tanh(x):
    return tf.tanh(x)


for epoch in range(6):
    result = tf.function(tanh)(tf.ones([3]))  # TR203
