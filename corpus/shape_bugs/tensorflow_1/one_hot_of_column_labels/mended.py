"""One-hot labels made with np.eye from a column of numbers."""
import numpy as np
import tensorflow as tf


def one_hot(labels, num_classes):
    return np.eye(num_classes)[labels]


features = np.random.rand(150, 4)
species = np.random.randint(0, 3, size=(150, 1))
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 3])
w = tf.Variable(tf.truncated_normal([4, 3]))
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
targets = one_hot(species[:, 0], 3)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for start in range(0, 150, 30):
        sess.run(train, {x: features[start:start + 30], y: targets[start:start + 30]})
    print(sess.run(w).shape)
