"""A network from scratch whose weights are (out, in), as in other libraries."""
import numpy as np
import tensorflow as tf


def init_layers(sizes):
    rng = np.random.default_rng(0)
    return [tf.Variable(rng.normal(size=(n_out, n_in)).astype("float32")) for n_in, n_out in zip(sizes[:-1], sizes[1:])]


def forward(layers, x):
    for w in layers:
        x = tf.nn.relu(tf.matmul(x, w))  # BUG raises: (5, 12) by (20, 12)
    return x


print(forward(init_layers([12, 20, 3]), tf.ones([5, 12])).shape)
