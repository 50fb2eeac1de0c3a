"""A temporal block whose convolutions shorten the sequence."""
import tensorflow as tf


class TemporalBlock(tf.keras.layers.Layer):
    def __init__(self, filters, kernel_size, dilation_rate, padding):
        super().__init__()
        self.conv1 = tf.keras.layers.Conv1D(filters, kernel_size, dilation_rate=dilation_rate, padding=padding)
        self.conv2 = tf.keras.layers.Conv1D(filters, kernel_size, dilation_rate=dilation_rate, padding=padding)
        self.down = tf.keras.layers.Conv1D(filters, 1)

    def call(self, x):
        y = tf.nn.relu(self.conv1(x))
        y = tf.nn.relu(self.conv2(y))
        return tf.nn.relu(y + self.down(x))


class TCN(tf.keras.Model):
    def __init__(self, channels, padding="causal"):
        super().__init__()
        self.blocks = [TemporalBlock(c, 3, 2 ** i, padding) for i, c in enumerate(channels)]
        self.head = tf.keras.layers.Dense(1)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


print(TCN([16, 16])(tf.zeros((4, 30, 3))).shape)
