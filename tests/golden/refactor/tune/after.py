import tensorflow as tf


@tf.function(jit_compile=True, reduce_retracing=True)
def bare(x): return x


@tf.function(jit_compile=True, reduce_retracing=True)
def empty(x): return x


@tf.function(jit_compile=True, reduce_retracing=True)
def renamed(x): return x


@tf.function(jit_compile=True, reduce_retracing = (True))
def replaced(x): return x


@tf.function(
    jit_compile=True,  # because
    reduce_retracing=True,
)
def exploded(x): return x


@tf.function(
    jit_compile=True,  # no comma
    reduce_retracing=True
)
def no_comma(x): return x


@tf.function(None, [tf.TensorSpec([], tf.float32)])
def positional(x): return x


@tf.function(**options)
def spread(x): return x


@tf.function(jit_compile=True, reduce_retracing=True)
def right_already(x): return x
