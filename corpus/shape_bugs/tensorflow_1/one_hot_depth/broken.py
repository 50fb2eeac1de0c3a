"""One class more in the network than in the labels."""
import numpy as np
import tensorflow as tf

NUM_CLASSES = 10

x = tf.placeholder(tf.float32, [8, 20])
labels = tf.placeholder(tf.int32, [8])


def net(x, n_out):
    w1 = tf.Variable(tf.truncated_normal([20, 16]))
    w2 = tf.Variable(tf.truncated_normal([16, n_out]))
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)


logits = net(x, NUM_CLASSES + 1)
one_hot = tf.one_hot(labels, NUM_CLASSES)
loss = tf.nn.softmax_cross_entropy_with_logits(labels=one_hot, logits=logits)  # BUG raises: 11 logits, 10 classes
mean = tf.reduce_mean(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(mean, {x: np.zeros([8, 20]), labels: np.arange(8)}))
