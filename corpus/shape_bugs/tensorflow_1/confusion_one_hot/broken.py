"""A confusion matrix of one-hot rows."""
import numpy as np
import tensorflow as tf


def evaluate(labels, logits, classes):
    return tf.confusion_matrix(labels, tf.argmax(logits, 1), num_classes=classes)  # BUG raises: labels (None, 3)


x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 3])
matrix = evaluate(y, tf.matmul(x, tf.Variable(tf.random_normal([4, 3]))), 3)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(matrix, {x: np.zeros((6, 4)), y: np.eye(3)[[0, 1, 2, 0, 1, 2]]}).shape)
