"""Cross-attention to the states of another batch."""
import tensorflow as tf


class DecoderBlock(tf.keras.layers.Layer):
    def __init__(self, heads, dim):
        super().__init__()
        self.attention = tf.keras.layers.MultiHeadAttention(heads, dim)
        self.norm = tf.keras.layers.LayerNormalization()

    def call(self, x, context):
        attended = self.attention(x, context)
        return self.norm(x + attended)


def pool(states):
    return tf.reduce_mean(states, axis=1)


block = DecoderBlock(2, 16)
x, states = tf.random.normal((4, 7, 16)), tf.random.normal((4, 9, 16))
print(block(x, states).shape)
