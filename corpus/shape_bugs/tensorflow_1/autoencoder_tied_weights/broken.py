"""An autoencoder that uses the encoder's weights again, and forgets to transpose them."""
import numpy as np
import tensorflow as tf

n_visible, n_hidden = 100, 25


def encode(x, W, b):
    return tf.nn.sigmoid(tf.matmul(x, W) + b)


def decode(h, W, b):
    return tf.nn.sigmoid(tf.matmul(h, W) + b)  # BUG raises: (?, 25) by (100, 25)


X = tf.placeholder(tf.float32, [None, n_visible])
W = tf.Variable(tf.random_uniform([n_visible, n_hidden], -0.1, 0.1))
b_enc = tf.Variable(tf.zeros([n_hidden]))
b_dec = tf.Variable(tf.zeros([n_visible]))
Z = decode(encode(X, W, b_enc), W, b_dec)
cost = tf.reduce_sum(tf.pow(X - Z, 2))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(cost, feed_dict={X: np.zeros((2, n_visible))}))
