"""Normalisation layers."""

import tensorflow as tf


def moments_over(x, axes):
    mean = tf.reduce_mean(x, axes, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axes, keepdims=True)
    return mean, variance


class GroupNorm(tf.keras.layers.Layer):
    def __init__(self, groups, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.groups = groups
        self.epsilon = epsilon

    def build(self, input_shape):
        self.gamma = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=(input_shape[-1],), initializer="zeros", name="beta")

    def call(self, x):
        shape = tf.shape(x)
        grouped = tf.reshape(x, tf.concat([shape[:-1], [self.groups, x.shape[-1] // self.groups]], 0))
        mean, variance = moments_over(grouped, [1, 2, 4])
        normal = (grouped - mean) * tf.math.rsqrt(variance + self.epsilon)
        return tf.reshape(normal, shape) * self.gamma + self.beta

    def get_config(self):
        return {**super().get_config(), "groups": self.groups, "epsilon": self.epsilon}
