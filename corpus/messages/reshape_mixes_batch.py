"""InvalidArgumentError: ... Input to reshape is a tensor with 12800 values, but the requested shape requires a multiple of 3136

The size of one example in the reshape is not the size that the data have.
"""
import tensorflow as tf


def flat(images):
    return tf.reshape(images, [-1, 3136])  # TR405


for batch in tf.data.Dataset.from_tensor_slices(tf.ones([7, 80, 80])).batch(2):
    flat(batch)
