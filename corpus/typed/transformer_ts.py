"""Transformer encoder for time series forecasting, from scratch."""
from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf


@dataclass
class HParams:
    d_model: int = 32
    heads: int = 4
    layers: int = 2
    ff: int = 64
    window: int = 24
    horizon: int = 6
    features: int = 3
    batch: int = 16
    rates: list = field(default_factory=lambda: [0.1, 0.2])


def make_series(length, features):
    t = np.arange(length)[:, None]
    freq = np.linspace(0.1, 0.3, features)[None, :]
    series = np.sin(t * freq) + 0.1 * np.random.randn(length, features)
    return series.astype(np.float32)


def normalise(series):
    mean = series.mean(axis=0)
    std = series.std(axis=0)
    return (series - mean) / std, mean, std


def windowed(series, hp):
    ds = tf.data.Dataset.from_tensor_slices(series)
    size = hp.window + hp.horizon
    ds = ds.window(size, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(size))
    ds = ds.map(lambda w: (w[:hp.window], w[hp.window:, :1]))
    return ds.shuffle(64).batch(hp.batch, drop_remainder=True).prefetch(1)


def positional_encoding(length, depth):
    depth = depth / 2
    positions = np.arange(length)[:, np.newaxis]
    depths = np.arange(depth)[np.newaxis, :] / depth
    angle_rads = positions * (1 / (10000 ** depths))
    pos_encoding = np.concatenate([np.sin(angle_rads), np.cos(angle_rads)], axis=-1)
    return tf.cast(pos_encoding, dtype=tf.float32)


def scaled_dot_product_attention(q, k, v, mask=None):
    matmul_qk = tf.matmul(q, k, transpose_b=True)
    dk = tf.cast(tf.shape(k)[-1], tf.float32)
    logits = matmul_qk / tf.math.sqrt(dk)
    if mask is not None:
        logits += mask * -1e9
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v), weights


class MultiHead(tf.keras.layers.Layer):
    def __init__(self, d_model, heads):
        super().__init__()
        assert d_model % heads == 0
        self.heads = heads
        self.d_model = d_model
        self.depth = d_model // heads
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.out = tf.keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, q, k, v, mask=None):
        batch_size = tf.shape(q)[0]
        q = self.split_heads(self.wq(q), batch_size)
        k = self.split_heads(self.wk(k), batch_size)
        v = self.split_heads(self.wv(v), batch_size)
        attn, weights = scaled_dot_product_attention(q, k, v, mask)
        attn = tf.transpose(attn, perm=[0, 2, 1, 3])
        concat = tf.reshape(attn, (batch_size, -1, self.d_model))
        return self.out(concat), weights


class Block(tf.keras.layers.Layer):
    def __init__(self, d_model, heads, ff, rate):
        super().__init__()
        self.mha = MultiHead(d_model, heads)
        self.ffn = tf.keras.Sequential([tf.keras.layers.Dense(ff, activation="gelu"), tf.keras.layers.Dense(d_model)])
        self.ln1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.ln2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.drop = tf.keras.layers.Dropout(rate)

    def call(self, x, mask=None, training=False):
        a, w = self.mha(x, x, x, mask)
        x = self.ln1(x + self.drop(a, training=training))
        return self.ln2(x + self.ffn(x)), w


class Forecaster(tf.keras.Model):
    def __init__(self, hp):
        super().__init__()
        self.hp = hp
        self.inp = tf.keras.layers.Dense(hp.d_model)
        self.pos = positional_encoding(hp.window, hp.d_model)
        self.blocks = [Block(hp.d_model, hp.heads, hp.ff, r) for r in hp.rates[:hp.layers]]
        self.head = tf.keras.layers.Dense(hp.horizon)

    def causal_mask(self, n):
        return 1 - tf.linalg.band_part(tf.ones((n, n)), -1, 0)

    def call(self, x, training=False):
        h = self.inp(x) + self.pos[tf.newaxis]
        mask = self.causal_mask(self.hp.window)
        attn = {}
        for i, block in enumerate(self.blocks):
            h, attn[f"block{i}"] = block(h, mask, training=training)
        pooled = tf.reduce_mean(h, axis=1)
        return self.head(pooled)[..., tf.newaxis], attn


class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup=40):
        super().__init__()
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup = warmup

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(tf.math.rsqrt(step + 1.0), step * self.warmup ** -1.5)


def quantile_loss(y, pred, q=0.5):
    err = y - pred
    return tf.reduce_mean(tf.maximum(q * err, (q - 1) * err), axis=[1, 2])


def step_fn(model, opt, x, y):
    with tf.GradientTape() as tape:
        pred, _ = model(x, training=True)
        per_example = quantile_loss(y, pred)
        loss = tf.reduce_mean(per_example)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, per_example


def main():
    hp = HParams()
    series, mean, std = normalise(make_series(200, hp.features))
    ds = windowed(series, hp)
    model = Forecaster(hp)
    opt = tf.keras.optimizers.Adam(WarmUp(hp.d_model))
    for x, y in ds.take(4):
        loss, _ = step_fn(model, opt, x, y)
    print(float(loss), mean.shape, std.shape)


if __name__ == "__main__":
    main()
