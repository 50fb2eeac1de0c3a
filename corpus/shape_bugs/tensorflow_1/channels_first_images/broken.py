"""Images stored with channels first meet filters for channels last."""
import numpy as np
import tensorflow as tf


def load_cifar_like(n):
    flat = np.random.rand(n, 3072).astype('float32')
    return flat.reshape(n, 3, 32, 32)


def conv_layer(images, n_filters):
    kernel = tf.get_variable('kernel', [3, 3, 3, n_filters], initializer=tf.truncated_normal_initializer(stddev=0.05))
    conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding='SAME')  # BUG raises: 32 channels by axis -1, the filter wants 3
    return tf.nn.relu(conv)


data = tf.constant(load_cifar_like(4))
features = conv_layer(data, 8)
pooled = tf.reduce_mean(features, axis=[1, 2])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(pooled).shape)
