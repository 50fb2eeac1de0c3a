"""Data from a file: the shape is known by a reshape, the placeholder is for something else."""
import os
import tempfile

import numpy as np
import tensorflow as tf

path = os.path.join(tempfile.mkdtemp(), "faces.npz")
np.savez(path, x=np.random.rand(20, 96 * 96), y=np.random.rand(20, 30))


def load(name):
    archive = np.load(name)
    x = archive["x"].astype(np.float32).reshape(-1, 96, 96, 1)
    y = archive["y"].astype(np.float32).reshape(-1, 30)
    return x, y


X, Y = load(path)
images = tf.placeholder(tf.float32, [None, 96, 96, 1])
points = tf.placeholder(tf.float32, [None, 30])
flat = tf.reshape(images, [-1, 96 * 96])
W = tf.Variable(tf.truncated_normal([96 * 96, 30], stddev=0.01))
loss = tf.reduce_mean(tf.square(tf.matmul(flat, W) - points))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(loss, feed_dict={images: X, points: Y}) > 0)
