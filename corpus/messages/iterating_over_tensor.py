"""OperatorNotAllowedInGraphError: Iterating over a symbolic `tf.Tensor` is not allowed

AutoGraph rewrites the plain `for` statement over a tensor. Comprehensions, unpacking, `zip`, `max`, `sum` and `list` iterate in Python.
"""
import tensorflow as tf


@tf.function
def total(rows):
    return tf.add_n([tf.reduce_sum(row) for row in rows])  # TR303


total(tf.ones([3, 2]))
