"""ValueError: Shape must be at least rank 2 but is rank 1 for '{{node BiasAdd}} ...

The message names the operation and the shapes that it was given.
"""
import tensorflow as tf


@tf.function
def shifted(x, bias):
    return tf.nn.bias_add(x, bias)  # TR402


shifted(tf.ones([2]), tf.ones([2]))
