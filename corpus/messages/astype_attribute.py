"""AttributeError: SymbolicTensor object has no attribute 'astype'

A NumPy array that is an argument of a `tf.function` is a tensor inside of it, without the methods of arrays.
"""
import numpy as np
import tensorflow as tf


@tf.function
def normalised(images):
    return tf.reduce_mean(images.astype(np.float32))  # TR302


normalised(np.zeros([4, 28, 28], np.uint8))
