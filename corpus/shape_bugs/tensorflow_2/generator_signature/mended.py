"""A generator yields rows of another width than its signature says."""
import numpy as np
import tensorflow as tf


def rows():
    for i in range(6):
        yield np.arange(i, i + 5, dtype=np.float32)


w = tf.Variable(tf.ones([5, 1]))
dataset = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec([5], tf.float32))
for batch in dataset.batch(3):
    print((batch @ w).shape)
