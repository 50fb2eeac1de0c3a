"""AttributeError: 'SymbolicTensor' object has no attribute 'numpy'

Inside a `tf.function` a tensor has no value yet, so it has no `.numpy()`, `.item()` or `.tolist()`.
"""
import tensorflow as tf


@tf.function
def step(x):
    loss = tf.reduce_mean(x**2)
    return loss.numpy()  # TR301


step(tf.ones([3]))
