"""Picks the value of each action with gather_nd, from pairs that are put together the wrong way."""
import numpy as np
import tensorflow as tf

batch, actions = 6, 4
q = tf.placeholder(tf.float32, [batch, actions])
a = tf.placeholder(tf.int32, [batch])
target = tf.placeholder(tf.float32, [batch])


def chosen(values, indices):
    pairs = tf.stack([tf.range(batch), indices], 1)
    return tf.gather_nd(values, pairs)


loss = tf.reduce_mean(tf.square(target - chosen(q, a)))
with tf.Session() as sess:
    print(sess.run(loss, {q: np.ones((batch, actions)), a: np.zeros(batch), target: np.zeros(batch)}) >= 0)
