"""ValueError: 'y' has shape (1,) before the loop, but shape (2,) after one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants.

The variables of a `tf.while_loop` keep their shapes.
"""
import tensorflow as tf


@tf.function
def grow(n):
    y = tf.ones([1])
    for _ in tf.range(n):  # TR307
        y = tf.concat([y, y], axis=0)
    return y


grow(tf.constant(3))
