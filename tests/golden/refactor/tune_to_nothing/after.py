import tensorflow as tf

@tf.function
def a(x): return x


@tf.function
def b(x): return x


@tf.function
def c(x): return x
