"""RecursionError: maximum recursion depth exceeded

Tracing follows both sides of a condition on a tensor, so a recursion that only a tensor's value ends never ends.
"""
import tensorflow as tf


@tf.function
def factorial(n):
    if n <= 1:
        return tf.constant(1)
    return n * factorial(n - 1)  # TR314


factorial(tf.constant(4))
