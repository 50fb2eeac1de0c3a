"""A layer whose weights have the batch for rows."""
import tensorflow as tf


class Linear(tf.keras.layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[0], self.units), initializer="random_normal", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        return tf.matmul(inputs, self.w) + self.b  # BUG raises: w has 16 rows


class MLPBlock(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.linear_1 = Linear(32)
        self.linear_2 = Linear(1)

    def call(self, x):
        return self.linear_2(tf.nn.relu(self.linear_1(x)))


print(MLPBlock()(tf.ones((16, 64))).shape)
