"""Softmax regression on images that were loaded as squares."""
import numpy as np
import tensorflow as tf


def load_images(count):
    images = np.random.randint(0, 256, size=(count, 28, 28)).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[np.random.randint(0, 10, count)]
    return images / 255.0, labels


def build_graph():
    x = tf.placeholder(tf.float32, [None, 784], name='x')
    y = tf.placeholder(tf.float32, [None, 10], name='y')
    W = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    logits = tf.matmul(x, W) + b
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return x, y, loss, train_op


def main():
    x, y, loss, train_op = build_graph()
    images, labels = load_images(100)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            batch_x, batch_y = images[step * 32:(step + 1) * 32], labels[step * 32:(step + 1) * 32]
            _, value = sess.run([train_op, loss], feed_dict={x: batch_x, y: batch_y})  # BUG raises: x is (?, 784), fed (32, 28, 28)
            print(step, value)


main()
