"""A physics-informed network: coordinates as vectors, joined along axis 1."""
import numpy as np
import tensorflow as tf


class PINN(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(10, activation="tanh") for _ in range(3)]
        self.out = tf.keras.layers.Dense(1)

    def call(self, inputs):
        x, t = inputs
        h = tf.concat([x, t], axis=1)  # BUG raises: vectors have no axis 1
        for layer in self.hidden:
            h = layer(h)
        return self.out(h)


def residual(model, x, t):
    with tf.GradientTape() as tape:
        tape.watch(t)
        u = model((x, t))
    return tape.gradient(u, t)


points = np.random.uniform(-1, 1, 50).astype("float32")
times = np.random.uniform(0, 1, 50).astype("float32")
x, t = tf.constant(points), tf.constant(times)
print(residual(PINN(), x, t).shape)
