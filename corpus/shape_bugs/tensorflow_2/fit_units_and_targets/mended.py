"""A regression of two values whose model gives one more."""
import numpy as np
import tensorflow as tf


class Regressor(tf.keras.Model):
    def __init__(self, outputs):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="tanh")
        self.out = tf.keras.layers.Dense(outputs)

    def call(self, x):
        return self.out(self.hidden(x))


def targets_of(x):
    return np.stack([x.sum(axis=1), x.prod(axis=1)], axis=1)


x = np.random.rand(32, 5).astype("float32")
y = targets_of(x)
model = Regressor(2)
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, epochs=1, verbose=0)
