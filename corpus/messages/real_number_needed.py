"""TypeError: must be real number, not SymbolicTensor

`math` works on Python numbers; a tensor inside a `tf.function` has no value while the function is traced.
"""
import math

import tensorflow as tf


@tf.function
def scaled(x):
    return x * math.sqrt(tf.reduce_sum(x))  # TR319


scaled(tf.ones([3]))
