"""A binary classifier whose only output goes through a softmax."""
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 5])
y = tf.placeholder(tf.float32, [None, 1])


def output_layer(h):
    w = tf.Variable(tf.ones([5, 1]) * 0.3)
    b = tf.Variable(tf.zeros([1]))
    return tf.nn.softmax(tf.matmul(h, w) + b)  # BUG silent: the softmax of one number is 1


probability = output_layer(x)
loss = -tf.reduce_mean(y * tf.log(probability) + (1.0 - y) * tf.log(1.0 - probability + 1e-6))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run([probability, loss], {x: np.linspace(-1, 1, 15).reshape(3, 5), y: [[0.0], [1.0], [1.0]]}))
