"""Class scores for every place of the maps, with the losses of the `tf.losses` module."""
import numpy as np
import tensorflow as tf


def conv(x, n_out, name):
    with tf.variable_scope(name):
        w = tf.get_variable('w', [5, 5, int(x.shape[-1]), n_out])
        b = tf.get_variable('b', [n_out], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 2, 2, 1], 'SAME'), b))


def dense(x, n_out, name):
    with tf.variable_scope(name):
        w = tf.get_variable('w', [int(x.shape[-1]), n_out])
        return tf.tensordot(x, w, axes=[[len(x.shape) - 1], [0]])


def model_fn(features, labels):
    net = tf.reshape(features['x'], [-1, 28, 28, 1])
    net = conv(net, 8, 'conv1')
    net = conv(net, 16, 'conv2')
    logits = dense(net, 10, 'logits')
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)  # BUG raises: logits (None, 7, 7, 10), labels (None,)
    return logits, loss


x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int32, [None])
logits, loss = model_fn({'x': x}, y)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(loss, {x: np.random.rand(4, 784), y: [1, 2, 3, 4]}) > 0)
