"""Linear regression: predictions are a column, targets a row."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
train_x = rng.rand(20, 3).astype(np.float32)
train_y = train_x.sum(axis=1)

X = tf.placeholder(tf.float32, [None, 3])
Y = tf.placeholder(tf.float32, [None])
W = tf.Variable(tf.ones([3, 1]) * 0.1, name="weight")
b = tf.Variable(tf.zeros([1]), name="bias")
pred = tf.matmul(X, W) + b
cost = tf.reduce_mean(tf.square(pred - Y))  # BUG silent: (N, 1) - (N,) is (N, N)
optimizer = tf.train.GradientDescentOptimizer(0.05).minimize(cost)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(50):
        sess.run(optimizer, feed_dict={X: train_x, Y: train_y})
    print(sess.run(cost, feed_dict={X: train_x, Y: train_y}))
