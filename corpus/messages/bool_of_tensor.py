"""OperatorNotAllowedInGraphError: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed

AutoGraph rewrites `if`, `while`, `and`, `or` and `not` on tensors. It does not rewrite `assert`, `in`, `bool()`, comprehensions, or
code that it does not convert: properties, operators, what Keras calls.
"""
import tensorflow as tf


@tf.function
def scaled(x, scale):
    assert scale > 0  # TR304
    return x / scale


scaled(tf.ones([3]), tf.constant(2.0))
