"""TypeError: <tf.Tensor ...> is out of scope and cannot be used here

A `tf.function` stored a symbolic tensor outside of itself; after the call it belongs to no graph that runs.
"""
import tensorflow as tf

losses = []


@tf.function
def step(x):
    loss = tf.reduce_mean(x**2)
    losses.append(loss)  # TR104
    return loss


step(tf.ones([3]))
print(losses[0] + 1.0)
