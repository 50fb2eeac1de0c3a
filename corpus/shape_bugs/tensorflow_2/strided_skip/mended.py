"""A residual block that changes size adds its input as it was."""
import tensorflow as tf
from tensorflow import keras


class Residual(keras.Model):
    def __init__(self, filters, strides):
        super().__init__()
        self.conv1 = keras.layers.Conv2D(filters, 3, strides=strides, padding="same")
        self.conv2 = keras.layers.Conv2D(filters, 3, padding="same")
        self.shortcut = keras.layers.Conv2D(filters, 1, strides=strides) if strides > 1 else None

    def call(self, x):
        y = self.conv2(tf.nn.relu(self.conv1(x)))
        if self.shortcut is not None:
            x = self.shortcut(x)
        return tf.nn.relu(y + x)


x = tf.random.normal([2, 32, 32, 8])
x = Residual(8, 1)(x)
print(Residual(16, 2)(x).shape)
