"""A recurrent cell of one's own whose state is narrower than it says."""
import tensorflow as tf


class MinimalCell(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.state_size = units
        self.output_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units))
        self.recurrent = self.add_weight(shape=(input_shape[-1], self.units))

    def call(self, inputs, states):
        h = tf.tanh(tf.matmul(inputs, self.kernel) + tf.matmul(states[0], self.recurrent))  # BUG raises: 16 columns by 5 rows
        return h, [h]


layer = tf.keras.layers.RNN(MinimalCell(16))
print(layer(tf.zeros((3, 7, 5))).shape)
