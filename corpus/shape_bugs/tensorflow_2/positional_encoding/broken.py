"""A learned positional embedding of the maximum length is added to a shorter text."""
import tensorflow as tf


class TokenAndPosition(tf.keras.layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = tf.keras.layers.Embedding(vocab_size, embed_dim)
        self.pos_emb = tf.keras.layers.Embedding(maxlen, embed_dim)
        self.maxlen = maxlen

    def call(self, x):
        positions = self.pos_emb(tf.range(self.maxlen))
        return self.token_emb(x) + positions  # BUG raises: (4, 30, 32) + (50, 32)


embed = TokenAndPosition(50, 1000, 32)
print(embed(tf.zeros([4, 30], tf.int32)).shape)
