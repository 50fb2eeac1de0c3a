"""Attention, feed-forward and encoder blocks."""

import numpy as np
import tensorflow as tf


def positional_encoding(length, depth):
    positions = np.arange(length)[:, np.newaxis]
    depths = np.arange(depth // 2)[np.newaxis, :] / (depth / 2)
    angles = positions / (10000**depths)
    encoding = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    return tf.cast(encoding, tf.float32)


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
        scaled, _ = scaled_dot_product_attention(q, k, v, mask)
        scaled = tf.transpose(scaled, perm=[0, 2, 1, 3])
        return self.dense(tf.reshape(scaled, (batch_size, -1, self.d_model)))


class EncoderLayer(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, num_heads)
        self.ffn = tf.keras.Sequential(
            [tf.keras.layers.Dense(dff, activation="relu"), tf.keras.layers.Dense(d_model)]
        )
        self.norm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout = tf.keras.layers.Dropout(rate)

    def call(self, x, mask=None, training=False):
        attended = self.dropout(self.mha(x, x, x, mask=mask), training=training)
        out = self.norm1(x + attended)
        return self.norm2(out + self.dropout(self.ffn(out), training=training))


class Transformer(tf.keras.Model):
    def __init__(self, num_layers, d_model, num_heads, dff, vocabulary, length):
        super().__init__()
        self.d_model = d_model
        self.embedding = tf.keras.layers.Embedding(vocabulary, d_model)
        self.encoding = positional_encoding(length, d_model)
        self.blocks = [EncoderLayer(d_model, num_heads, dff) for _ in range(num_layers)]
        self.final = tf.keras.layers.Dense(vocabulary)

    def call(self, x, mask=None, training=False):
        length = tf.shape(x)[1]
        x = self.embedding(x) * tf.math.sqrt(tf.cast(self.d_model, tf.float32))
        x += self.encoding[tf.newaxis, :length, :]
        for block in self.blocks:
            x = block(x, mask=mask, training=training)
        return self.final(x)
