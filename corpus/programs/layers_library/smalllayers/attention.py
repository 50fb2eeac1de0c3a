"""Squeeze-and-excitation, and a gated residual block."""

import tensorflow as tf

from smalllayers.norm import GroupNorm


class SqueezeExcite(tf.keras.layers.Layer):
    def __init__(self, ratio=2, **kwargs):
        super().__init__(**kwargs)
        self.ratio = ratio

    def build(self, input_shape):
        channels = input_shape[-1]
        self.reduce = tf.keras.layers.Dense(channels // self.ratio, activation="relu")
        self.expand = tf.keras.layers.Dense(channels, activation="sigmoid")

    def call(self, x):
        weights = self.expand(self.reduce(tf.reduce_mean(x, axis=[1, 2])))
        return x * weights[:, tf.newaxis, tf.newaxis, :]


class GatedResidual(tf.keras.layers.Layer):
    def __init__(self, channels, groups=2, **kwargs):
        super().__init__(**kwargs)
        self.conv = tf.keras.layers.Conv2D(2 * channels, 3, padding="same")
        self.norm = GroupNorm(groups)
        self.excite = SqueezeExcite()

    def call(self, x):
        value, gate = tf.split(self.conv(self.norm(x)), 2, axis=-1)
        return x + self.excite(value * tf.sigmoid(gate))
