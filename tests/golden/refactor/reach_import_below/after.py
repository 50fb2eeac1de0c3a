import tensorflow as tf


@tf.function
def f(x):
    return x


import tensorflow as tf


@tf.function
def g(x):
    return tf.square(x)
