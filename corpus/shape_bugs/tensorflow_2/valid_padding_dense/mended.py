"""A convolutional module with weights of its own, whose last layer was sized for SAME padding."""
import tensorflow as tf


class Digits(tf.Module):
    def __init__(self):
        super().__init__()
        self.k1 = tf.Variable(tf.random.normal([5, 5, 1, 6]))
        self.k2 = tf.Variable(tf.random.normal([5, 5, 6, 16]))
        self.w = tf.Variable(tf.random.normal([7 * 7 * 16, 10]))

    def features(self, x):
        x = tf.nn.relu(tf.nn.conv2d(x, self.k1, strides=1, padding="SAME"))
        x = tf.nn.max_pool2d(x, 2, 2, padding="VALID")
        x = tf.nn.relu(tf.nn.conv2d(x, self.k2, strides=1, padding="SAME"))
        return tf.nn.max_pool2d(x, 2, 2, padding="VALID")

    def __call__(self, x):
        h = self.features(x)
        h = tf.reshape(h, [x.shape[0], -1])
        return tf.matmul(h, self.w)


model = Digits()
print(model(tf.random.normal([4, 28, 28, 1])).shape)
