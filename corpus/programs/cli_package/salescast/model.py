"""A recurrent forecaster whose cell is written by hand."""

import tensorflow as tf


class GatedCell(tf.Module):
    def __init__(self, inputs, units):
        super().__init__()
        init = tf.keras.initializers.GlorotUniform(seed=1)
        self.units = units
        self.kernel = tf.Variable(init([inputs + units, 2 * units]))
        self.bias = tf.Variable(tf.zeros([2 * units]))
        self.candidate = tf.Variable(init([inputs + units, units]))

    def __call__(self, x, state):
        gates = tf.sigmoid(tf.matmul(tf.concat([x, state], 1), self.kernel) + self.bias)
        reset, update = tf.split(gates, 2, axis=1)
        proposed = tf.tanh(tf.matmul(tf.concat([x, reset * state], 1), self.candidate))
        return update * state + (1.0 - update) * proposed


class Forecaster(tf.Module):
    def __init__(self, config):
        super().__init__()
        self.cell = GatedCell(1, config.units)
        self.out = tf.Variable(tf.keras.initializers.GlorotUniform(seed=2)([config.units, 1]))
        self.offset = tf.Variable(0.0)

    def __call__(self, series):
        state = tf.zeros([tf.shape(series)[0], self.cell.units])
        for t in range(series.shape[1]):
            state = self.cell(series[:, t], state)
        return tf.squeeze(tf.matmul(state, self.out), 1) + self.offset
