"""ValueError: 'y' has shape () before the loop, but shape (2,) after one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants.

A sum that starts as a Python number is a scalar.
"""

import tensorflow as tf


@tf.function
def total(x):
    y = 0.0
    for row in x:  # TR307
        y = y + row
    return y


total(tf.ones([3, 2]))
