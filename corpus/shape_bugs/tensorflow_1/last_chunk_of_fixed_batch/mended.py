"""A graph with a fixed batch size; the last part of the data is shorter."""
import numpy as np
import tensorflow as tf

BATCH_SIZE = 32
NUM_STEPS = 10

inputs = tf.placeholder(tf.float32, [BATCH_SIZE, NUM_STEPS])
targets = tf.placeholder(tf.float32, [BATCH_SIZE])
w = tf.get_variable("w", [NUM_STEPS, 1])
prediction = tf.squeeze(tf.matmul(inputs, w), axis=1)
loss = tf.reduce_mean(tf.square(prediction - targets))
train = tf.train.RMSPropOptimizer(0.01).minimize(loss)


def train_on(sess, x, y):
    return sess.run([loss, train], feed_dict={inputs: x, targets: y})[0]


series = np.random.rand(100, NUM_STEPS).astype(np.float32)
values = series.sum(axis=1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(train_on(sess, series[:32], values[:32]))
    print(train_on(sess, series[32:64], values[32:64]))
    print(train_on(sess, series[64:96], values[64:96]))
