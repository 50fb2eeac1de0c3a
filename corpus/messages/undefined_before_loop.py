"""ValueError: 'y' must be defined before the loop

A loop over a dataset may run zero times, so its variables need a value before it.
"""
import tensorflow as tf


@tf.function
def last(dataset):
    for batch in dataset:  # TR307
        y = tf.reduce_sum(batch)
    return y


last(tf.data.Dataset.range(4))
