"""TypeError: 'NoneType' object cannot be interpreted as an integer

How many elements `tf.boolean_mask`, `tf.where` or `x[mask]` give depends on values, so `.shape[0]` is None in a graph.
"""
import tensorflow as tf


@tf.function
def doubled(x):
    chosen = tf.boolean_mask(x, x > 0.0)
    return [chosen[i] * 2.0 for i in range(chosen.shape[0])]  # TR323


doubled(tf.constant([1.0, -1.0, 2.0]))
