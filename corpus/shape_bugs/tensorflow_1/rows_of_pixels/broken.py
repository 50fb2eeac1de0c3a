"""Images are flattened to rows of another width than they have, so that the batch grows."""
import numpy as np
import tensorflow as tf

images = tf.placeholder(tf.float32, [10, 32, 32, 3])


def fully_connected(x, n_in, n_out):
    w = tf.Variable(tf.ones([n_in, n_out]) * 0.001)
    return tf.matmul(x, w)


flat = tf.reshape(images, [-1, 32 * 32])  # BUG silent: the channels become rows: 30 of them
logits = fully_connected(flat, 32 * 32, 5)
prediction = tf.argmax(logits, 1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(prediction, {images: np.zeros((10, 32, 32, 3))}))
