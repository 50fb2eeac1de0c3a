"""A gated cell by hand: the gates look at input and state, the candidate only has weights for the state."""
import tensorflow as tf


class Cell(tf.Module):
    def __init__(self, n_in, units):
        super().__init__()
        self.gate = tf.Variable(tf.random.normal([n_in + units, units]))
        self.candidate = tf.Variable(tf.random.normal([n_in + units, units]))

    def __call__(self, x, h):
        z = tf.sigmoid(tf.concat([x, h], 1) @ self.gate)
        new = tf.tanh(tf.concat([x, z * h], 1) @ self.candidate)
        return z * h + (1 - z) * new


def run(cell, sequence, h):
    for t in range(sequence.shape[1]):
        h = cell(sequence[:, t], h)
    return h


print(run(Cell(3, 5), tf.random.normal([2, 4, 3]), tf.zeros([2, 5])).shape)
