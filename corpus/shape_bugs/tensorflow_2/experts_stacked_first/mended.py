"""A mixture of experts whose outputs are stacked before the batch."""
import tensorflow as tf


class MixtureOfExperts(tf.keras.layers.Layer):
    def __init__(self, n_experts, units):
        super().__init__()
        self.experts = [tf.keras.layers.Dense(units) for _ in range(n_experts)]
        self.gate = tf.keras.layers.Dense(n_experts, activation="softmax")

    def call(self, x):
        outputs = tf.stack([expert(x) for expert in self.experts], axis=1)
        gates = self.gate(x)
        return tf.einsum("be,beo->bo", gates, outputs)


print(MixtureOfExperts(4, 8)(tf.random.normal((32, 10))).shape)
