"""TypeError: float() argument must be a string or a real number, not 'NoneType'

The number of elements that `tf.boolean_mask`, `tf.where` or `x[mask]` give depends on values, so `.shape[0]` is None in a graph.
"""
import tensorflow as tf


@tf.function
def share(x):
    chosen = tf.boolean_mask(x, x > 0.0)
    return float(chosen.shape[0]) / 3.0  # TR323


share(tf.constant([1.0, -1.0, 2.0]))
