import tensorflow as tf


def f(x):
    print(x)
    return x


@tf.function
def g(x):
    print(x)


@register
@tf.function(jit_compile=True)  # fast
def h(x):
    print(x)
