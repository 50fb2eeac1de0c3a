"""Doc."""

import tensorflow as tf

x = 1


@tf.function
def f(x):
    return x
