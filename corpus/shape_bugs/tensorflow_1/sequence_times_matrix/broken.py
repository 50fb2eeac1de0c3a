"""A dense layer over every step of a sequence, with weights made for another width."""
import numpy as np
import tensorflow as tf


def dense(x, n_out, name):
    n_in = int(x.get_shape()[1])
    with tf.variable_scope(name):
        w = tf.get_variable('w', [n_in, n_out])
        b = tf.get_variable('b', [n_out], initializer=tf.constant_initializer(0.0))
    return tf.matmul(x, w) + b  # BUG raises: rank 3 by rank 2, and the sizes are those of time


frames = tf.placeholder(tf.float32, [None, 30, 13])
hidden = tf.nn.relu(dense(frames, 64, 'hidden'))
scores = dense(hidden, 5, 'scores')
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(scores, feed_dict={frames: np.zeros([2, 30, 13])}).shape)
