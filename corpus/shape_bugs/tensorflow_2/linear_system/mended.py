"""A Gaussian process: the vector of targets goes to a solver of matrices."""
import numpy as np
import tensorflow as tf


def kernel(a, b):
    return tf.exp(-0.5 * tf.square(a[:, None] - b[None, :]))


def posterior_mean(x, y, x_new):
    k = kernel(x, x) + 0.1 * tf.eye(len(x))
    chol = tf.linalg.cholesky(k)
    alpha = tf.linalg.cholesky_solve(chol, y[:, None])
    return tf.matmul(kernel(x_new, x), alpha)


x = np.linspace(0, 1, 20, dtype="float32")
print(posterior_mean(x, np.sin(x), np.linspace(0, 2, 5, dtype="float32")).shape)
