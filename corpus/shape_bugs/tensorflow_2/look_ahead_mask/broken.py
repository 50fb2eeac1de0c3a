"""A causal mask of the full length meets a shorter sequence."""
import tensorflow as tf

MAX_LEN = 16


def causal_mask(size):
    return 1.0 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)


class SelfAttention(tf.keras.layers.Layer):
    def __init__(self, dim):
        super().__init__()
        self.query = tf.keras.layers.Dense(dim)
        self.key = tf.keras.layers.Dense(dim)

    def call(self, x, mask):
        scores = tf.matmul(self.query(x), self.key(x), transpose_b=True)
        scores += mask * -1e9  # BUG raises: (3, 12, 12) and (16, 16)
        return tf.nn.softmax(scores)


layer = SelfAttention(8)
x = tf.random.normal([3, 12, 20])
print(layer(x, causal_mask(MAX_LEN)).shape)
