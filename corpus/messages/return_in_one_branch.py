"""ValueError: the else branch must also have a return statement.

Both branches of an `if` on a tensor must return a value, or neither.
"""
import tensorflow as tf


@tf.function
def sign(x):
    if x > 0.0:  # TR306
        return tf.constant(1.0)


sign(tf.constant(2.0))
