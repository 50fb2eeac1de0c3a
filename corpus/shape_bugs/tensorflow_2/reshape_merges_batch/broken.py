"""A sequence is flattened for a dense layer so that halves of it become examples."""
import tensorflow as tf


class Head(tf.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.w = tf.Variable(tf.ones([width, classes]))
        self.width = width

    def __call__(self, features):
        flat = tf.reshape(features, [-1, self.width])  # BUG silent: 40 columns of 4 * 20: each example becomes two
        return tf.nn.softmax(flat @ self.w)


head = Head(40, 3)
features = tf.random.normal([6, 4, 20])
print(head(features).shape)
