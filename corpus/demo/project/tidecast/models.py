"""Three forecasters: linear and recurrent without Keras, convolutional with it."""

import tensorflow as tf

from .data import HORIZON, WINDOW


class LinearForecaster(tf.Module):
    """The next levels as a weighted sum of the window."""

    def __init__(self, features=2, name=None):
        super().__init__(name=name)
        self.features = features
        self.weights = tf.Variable(tf.zeros([WINDOW * features, HORIZON]), name="weights")
        self.bias = tf.Variable(tf.zeros([HORIZON]), name="bias")

    def __call__(self, inputs):
        flat = tf.reshape(inputs, [-1, WINDOW * self.features])
        return tf.matmul(flat, self.weights) + self.bias


class RecurrentForecaster(tf.Module):
    """A gated recurrent cell, written out."""

    def __init__(self, units=16, features=2, name=None):
        super().__init__(name=name)
        self.units = units
        init = tf.keras.initializers.GlorotUniform(seed=1)
        self.kernel = tf.Variable(init([features + units, 2 * units]), name="kernel")
        self.candidate = tf.Variable(init([features + units, units]), name="candidate")
        self.gate_bias = tf.Variable(tf.ones([2 * units]), name="gate_bias")
        self.head = tf.Variable(init([units, HORIZON]), name="head")
        self.steps_seen = 0

    def cell(self, inputs, state):
        joined = tf.concat([inputs, state], axis=-1)
        gates = tf.sigmoid(tf.matmul(joined, self.kernel) + self.gate_bias)
        update, reset = tf.split(gates, 2, axis=-1)
        proposal = tf.tanh(tf.matmul(tf.concat([inputs, reset * state], axis=-1), self.candidate))
        return update * state + (1.0 - update) * proposal

    def __call__(self, inputs):
        state = tf.zeros([tf.shape(inputs)[0], self.units])
        for step in range(WINDOW):
            state = self.cell(inputs[:, step], state)
        return tf.matmul(state, self.head)

    def roll_out(self, inputs, hours):
        """Forecasts beyond the horizon, one cell step for each hour."""
        state = tf.zeros([tf.shape(inputs)[0], self.units])
        for hour in range(hours):
            state = self.cell(inputs[:, hour % WINDOW], state)
            self.steps_seen += 1  # a Python counter: a graph would count while it is traced only
        return tf.matmul(state, self.head)


class GaugeModel(tf.keras.Model):
    """One-dimensional convolutions over the window."""

    def __init__(self, filters=16):
        super().__init__()
        self.convolution = tf.keras.layers.Conv1D(filters, 5, activation="relu")
        self.pool = tf.keras.layers.GlobalAveragePooling1D()
        self.dense = tf.keras.layers.Dense(HORIZON)

    def call(self, inputs, training=False):
        hidden = self.convolution(inputs)
        return self.dense(self.pool(hidden))
