import tensorflow as tf

@tf.function(jit_compile=True)
def a(x): return x


@tf.function(
    # why
    jit_compile=True,
)
def b(x): return x


@tf.function
def c(x): return x
