"""A text CNN whose pooling window was computed for SAME padding."""
import numpy as np
import tensorflow as tf

sequence_length, embedding_size, num_filters = 20, 8, 6
filter_sizes = [3, 4, 5]

input_x = tf.placeholder(tf.int32, [None, sequence_length])
W = tf.Variable(tf.random_uniform([60, embedding_size], -1.0, 1.0))
embedded = tf.expand_dims(tf.nn.embedding_lookup(W, input_x), -1)


def conv_and_pool(filter_size):
    filter_shape = [filter_size, embedding_size, 1, num_filters]
    kernel = tf.Variable(tf.truncated_normal(filter_shape, stddev=0.1))
    conv = tf.nn.conv2d(embedded, kernel, strides=[1, 1, 1, 1], padding="VALID")
    window = [1, sequence_length - filter_size + 1, 1, 1]
    return tf.nn.max_pool(tf.nn.relu(conv), ksize=window, strides=[1, 1, 1, 1], padding='VALID')


pooled = [conv_and_pool(size) for size in filter_sizes]
h_pool = tf.concat(pooled, 3)
h_flat = tf.squeeze(h_pool, [1, 2])
w_out = tf.get_variable("w_out", [num_filters * len(filter_sizes), 2])
scores = tf.matmul(h_flat, w_out)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(scores, {input_x: np.zeros((5, sequence_length))}).shape)
