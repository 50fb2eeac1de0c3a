"""A table from a text file: the target column counts among the inputs."""
import io

import numpy as np
import tensorflow as tf

text = io.StringIO("\n".join(",".join(str(i * j % 7) for j in range(9)) for i in range(40)))
data = np.genfromtxt(text, delimiter=",").reshape(-1, 9)
train_X, train_Y = data[:, :8], data[:, 8:]
test = data[30:]

x = tf.placeholder(tf.float32, [None, 8])
y = tf.placeholder(tf.float32, [None, 1])
W = tf.Variable(tf.zeros([8, 1]))
b = tf.Variable(tf.zeros([1]))
pred = tf.matmul(x, W) + b
cost = tf.reduce_mean(tf.square(pred - y))
step = tf.train.GradientDescentOptimizer(0.01).minimize(cost)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        for (px, py) in zip(train_X, train_Y):
            sess.run(step, feed_dict={x: [px], y: [py]})
    print(sess.run(pred, feed_dict={x: test}).shape)  # BUG raises: 9 columns for 8
