"""A cell by hand, states carried through a loop, and a TensorArray of outputs."""

import numpy as np
import tensorflow as tf


def make_series(length=80, seed=3):
    generator = np.random.default_rng(seed)
    time = np.linspace(0.0, 8.0, length)
    return (np.sin(time) + generator.normal(scale=0.1, size=length)).astype("float32")


def sliding_windows(series, width):
    windows = [series[i : i + width] for i in range(len(series) - width)]
    targets = [series[i + width] for i in range(len(series) - width)]
    return np.stack(windows)[..., np.newaxis], np.array(targets)


class GRUCell(tf.Module):
    def __init__(self, inputs, units, name=None):
        super().__init__(name=name)
        self.units = units
        self.kernel = tf.Variable(tf.random.normal([inputs, 3 * units], stddev=0.1))
        self.recurrent = tf.Variable(tf.random.normal([units, 3 * units], stddev=0.1))
        self.bias = tf.Variable(tf.zeros([3 * units]))

    def initial_state(self, batch):
        return tf.zeros([batch, self.units])

    def __call__(self, x, h):
        xs = tf.matmul(x, self.kernel) + self.bias
        hs = tf.matmul(h, self.recurrent)
        xz, xr, xn = tf.split(xs, 3, axis=-1)
        hz, hr, hn = tf.split(hs, 3, axis=-1)
        z = tf.sigmoid(xz + hz)
        n = tf.tanh(xn + tf.sigmoid(xr + hr) * hn)
        return (1.0 - z) * n + z * h


class Forecaster(tf.Module):
    def __init__(self, units):
        super().__init__()
        self.cell = GRUCell(1, units)
        self.w = tf.Variable(tf.random.normal([units, 1]))

    def unroll(self, x):
        batch, steps = tf.shape(x)[0], x.shape[1]
        state = self.cell.initial_state(batch)
        outputs = tf.TensorArray(tf.float32, size=steps)
        for t in tf.range(steps):
            state = self.cell(x[:, t], state)
            outputs = outputs.write(t, state)
        return tf.transpose(outputs.stack(), [1, 0, 2]), state

    @tf.function
    def predict(self, x):
        states, last = self.unroll(x)
        return tf.squeeze(last @ self.w, -1), states


def loss_fn(targets, predictions):
    error = targets - predictions
    return tf.reduce_mean(tf.where(tf.abs(error) < 1.0, 0.5 * error**2, tf.abs(error) - 0.5))


def fit(model, windows, targets, *, rate=0.05, epochs=2):
    history = []
    for _ in range(epochs):
        with tf.GradientTape() as tape:
            predicted, _ = model.predict(windows)
            loss = loss_fn(targets, predicted)
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            variable.assign_sub(rate * gradient)
        history.append(float(loss))
    return history


windows, targets = sliding_windows(make_series(), width=12)
print(fit(Forecaster(6), tf.constant(windows), tf.constant(targets)))
