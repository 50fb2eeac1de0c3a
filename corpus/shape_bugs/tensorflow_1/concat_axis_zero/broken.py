"""Two towers of different width are joined along the batch."""
import numpy as np
import tensorflow as tf


def tower(x, n_out, scope):
    with tf.variable_scope(scope):
        w = tf.get_variable("w", [x.get_shape()[1], n_out])
        return tf.nn.relu(tf.matmul(x, w))


def merge(parts):
    return tf.concat(parts, 0)  # BUG raises: 32 and 16 columns cannot be stacked as rows


user = tf.placeholder(tf.float32, [None, 50])
item = tf.placeholder(tf.float32, [None, 70])
joined = merge([tower(user, 32, "user"), tower(item, 16, "item")])
w = tf.get_variable("rating_w", [48, 1])
rating = tf.matmul(joined, w)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(rating, {user: np.zeros((3, 50)), item: np.zeros((3, 70))}).shape)
