"""A layer that makes its bias for its input instead of for its output."""
import tensorflow as tf


class Linear(tf.keras.layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal")
        self.b = self.add_weight(shape=(input_shape[-1],), initializer="zeros")

    def call(self, inputs):
        return tf.matmul(inputs, self.w) + self.b  # BUG raises: (3, 6) + (10,)


print(Linear(6)(tf.ones([3, 10])).shape)
