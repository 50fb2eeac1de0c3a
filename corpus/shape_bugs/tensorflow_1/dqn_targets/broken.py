"""Q-learning: the targets for the chosen actions keep an axis of the network's output."""
import numpy as np
import tensorflow as tf


def q_network(states, name):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [6, 3], initializer=tf.constant_initializer(0.2))
        return tf.matmul(states, w)


def td_error(q_values, actions, targets):
    chosen = tf.reduce_sum(q_values * tf.one_hot(actions, 3), axis=1, keepdims=True)
    return tf.square(targets - chosen)  # BUG silent: (N,) - (N, 1) is (N, N)


s = tf.placeholder(tf.float32, [None, 6])
a = tf.placeholder(tf.int32, [None])
target_q = tf.placeholder(tf.float32, [None])
loss = tf.reduce_mean(td_error(q_network(s, "online"), a, target_q))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(loss, {s: np.arange(24.0).reshape(4, 6), a: [0, 1, 2, 0], target_q: [3.0, 1.0, 0.0, 9.0]}))
