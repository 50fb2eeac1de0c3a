"""Accuracy of class numbers against a column of labels."""
import numpy as np
import tensorflow as tf


def accuracy_of(logits, labels):
    predicted = tf.argmax(logits, 1)
    correct = tf.equal(predicted, tf.reshape(labels, [-1]))
    return tf.reduce_mean(tf.cast(correct, tf.float32))


logits = tf.placeholder(tf.float32, [None, 3])
labels = tf.placeholder(tf.int64, [None, 1])
accuracy = accuracy_of(logits, labels)
with tf.Session() as sess:
    scores = np.eye(3)[[0, 1, 2, 1, 0]]
    print(sess.run(accuracy, {logits: scores, labels: [[0], [1], [2], [1], [0]]}))
