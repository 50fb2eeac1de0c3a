"""The channels of a filter are in the wrong order."""
import tensorflow as tf


class ConvBlock:
    def __init__(self, in_channels, out_channels, size=3):
        self.kernel = tf.Variable(tf.random.normal([size, size, in_channels, out_channels], stddev=0.1))
        self.bias = tf.Variable(tf.zeros([out_channels]))

    def __call__(self, x):
        y = tf.nn.conv2d(x, self.kernel, strides=1, padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(y, self.bias))


block = ConvBlock(3, 12)
print(block(tf.random.normal([2, 20, 20, 3])).shape)
