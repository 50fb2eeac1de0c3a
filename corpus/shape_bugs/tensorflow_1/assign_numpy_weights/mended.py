"""Trained weights put back into variables, in the order of another framework."""
import numpy as np
import tensorflow as tf


def restore(sess, variables, arrays):
    for variable, array in zip(variables, arrays):
        sess.run(tf.assign(variable, array.T))


W = tf.get_variable("W", [784, 10])
V = tf.get_variable("V", [10, 2])
saved = [np.random.rand(10, 784).astype(np.float32), np.random.rand(2, 10).astype(np.float32)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    restore(sess, [W, V], saved)
    print(sess.run(V).shape)
