"""A small transformer: positional encoding, masks, multi-head attention in a class of its own."""

import numpy as np
import tensorflow as tf


def get_angles(pos, i, d_model):
    return pos / np.power(10000, (2 * (i // 2)) / np.float32(d_model))


def positional_encoding(position, d_model):
    angles = get_angles(np.arange(position)[:, np.newaxis], np.arange(d_model)[np.newaxis, :], d_model)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return tf.cast(angles[np.newaxis, ...], tf.float32)


def create_padding_mask(seq):
    seq = tf.cast(tf.math.equal(seq, 0), tf.float32)
    return seq[:, tf.newaxis, tf.newaxis, :]


def create_look_ahead_mask(size):
    return 1 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)


def scaled_dot_product_attention(q, k, v, mask):
    matmul_qk = tf.matmul(q, k, transpose_b=True)
    dk = tf.cast(tf.shape(k)[-1], tf.float32)
    logits = matmul_qk / tf.math.sqrt(dk)
    if mask is not None:
        logits += mask * -1e9
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v), weights


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.d_model = d_model
        self.depth = d_model // num_heads
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, v, k, q, mask=None):
        batch_size = tf.shape(q)[0]
        q = self.split_heads(self.wq(q), batch_size)
        k = self.split_heads(self.wk(k), batch_size)
        v = self.split_heads(self.wv(v), batch_size)
        attention, weights = scaled_dot_product_attention(q, k, v, mask)
        attention = tf.transpose(attention, perm=[0, 2, 1, 3])
        concat = tf.reshape(attention, (batch_size, -1, self.d_model))
        return self.dense(concat), weights


def feed_forward(d_model, dff):
    return tf.keras.Sequential([tf.keras.layers.Dense(dff, activation="relu"), tf.keras.layers.Dense(d_model)])


class EncoderLayer(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, num_heads)
        self.ffn = feed_forward(d_model, dff)
        self.norms = [tf.keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.dropout = tf.keras.layers.Dropout(rate)

    def call(self, x, training=False, mask=None):
        attention, _ = self.mha(x, x, x, mask)
        out = self.norms[0](x + self.dropout(attention, training=training))
        return self.norms[1](out + self.dropout(self.ffn(out), training=training))


class Encoder(tf.keras.layers.Layer):
    def __init__(self, num_layers, d_model, num_heads, dff, vocabulary, maximum_position):
        super().__init__()
        self.d_model = d_model
        self.embedding = tf.keras.layers.Embedding(vocabulary, d_model)
        self.positions = positional_encoding(maximum_position, d_model)
        self.enc_layers = [EncoderLayer(d_model, num_heads, dff) for _ in range(num_layers)]

    def call(self, tokens, training=False):
        mask = create_padding_mask(tokens)
        length = tf.shape(tokens)[1]
        x = self.embedding(tokens) * tf.math.sqrt(tf.cast(self.d_model, tf.float32))
        x += self.positions[:, :length, :]
        for layer in self.enc_layers:
            x = layer(x, training=training, mask=mask)
        return x


encoder = Encoder(num_layers=2, d_model=16, num_heads=4, dff=32, vocabulary=50, maximum_position=40)
tokens = tf.constant([[7, 6, 2, 0, 0], [1, 2, 3, 0, 0], [4, 4, 5, 6, 8]])
print(encoder(tokens, training=True).shape)
q = tf.random.uniform((1, 3, 12, 16))
look_ahead = create_look_ahead_mask(tf.shape(q)[2])
print(scaled_dot_product_attention(q, q, q, look_ahead)[0].shape)
