"""A sequence is flattened for a dense layer so that halves of it become examples."""
import tensorflow as tf


class Head(tf.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.w = tf.Variable(tf.ones([width, classes]))
        self.width = width

    def __call__(self, features):
        flat = tf.reshape(features, [features.shape[0], -1])
        return tf.nn.softmax(flat @ self.w)


head = Head(80, 3)
features = tf.random.normal([6, 4, 20])
print(head(features).shape)
