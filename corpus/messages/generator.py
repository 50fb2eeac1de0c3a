"""OperatorNotAllowedInGraphError: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. You can attempt the following resolutions to the problem: ... If you are using AutoGraph, you can try decorating this function with @tf.function. If that does not work, then you may be using an unsupported feature or your source code may not be visible to AutoGraph.

With the long text, AutoGraph did not convert the code at all: a generator, a coroutine, a lambda that it cannot find. A warning before it says
`AutoGraph could not transform <function ...> and will run it as-is. ... Cause: generators are not supported`.
"""
import tensorflow as tf


def positive(x):
    for number in range(3):
        if x[number] > 0.0:  # TR305
            yield x[number]


@tf.function
def total(x):
    return tf.add_n(list(positive(x)))


total(tf.ones([3]))
