"""A keep probability fed as a list."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 20])
keep_prob = tf.placeholder(tf.float32, shape=())
W = tf.Variable(tf.random_normal([20, 3]))
out = tf.nn.dropout(tf.matmul(x, W), keep_prob)


def evaluate(sess, rows, keep):
    return sess.run(out, feed_dict={x: rows, keep_prob: keep})


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(evaluate(sess, np.ones((2, 20)), 1.0).shape)
