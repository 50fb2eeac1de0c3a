"""A library's functions; the block at the end is all that calls them."""

from typing import Optional, Sequence, Union

import tensorflow as tf

TensorLike = Union[tf.Tensor, tf.Variable]


def gaussian_kernel(x: tf.Tensor, y: Optional[tf.Tensor] = None, length_scale: float = 1.0) -> tf.Tensor:
    """Squared-exponential covariance of the rows of x and y."""
    if y is None:
        y = x
    x2 = tf.reduce_sum(tf.square(x), -1, keepdims=True)
    y2 = tf.reduce_sum(tf.square(y), -1, keepdims=True)
    distance = x2 - 2.0 * tf.matmul(x, y, transpose_b=True) + tf.linalg.matrix_transpose(y2)
    return tf.exp(-0.5 * distance / length_scale**2)


def add_jitter(matrix: TensorLike, amount=1e-5) -> tf.Tensor:
    return matrix + amount * tf.eye(tf.shape(matrix)[-1], dtype=matrix.dtype)


def posterior(train_x, train_y, test_x, noise=0.1):
    kxx = add_jitter(gaussian_kernel(train_x), noise)
    kxs = gaussian_kernel(train_x, test_x)
    chol = tf.linalg.cholesky(kxx)
    alpha = tf.linalg.cholesky_solve(chol, train_y)
    mean = tf.matmul(kxs, alpha, transpose_a=True)
    v = tf.linalg.triangular_solve(chol, kxs)
    variance = tf.linalg.diag_part(gaussian_kernel(test_x)) - tf.reduce_sum(tf.square(v), axis=0)
    return mean, variance


def log_likelihood(values: Sequence[tf.Tensor], mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    total = tf.constant(0.0)
    for value in values:
        total += tf.reduce_sum(-0.5 * tf.math.log(variance) - 0.5 * (value - mean[:, 0]) ** 2 / variance)
    return total


def polynomial_features(x: tf.Tensor, degree: int) -> tf.Tensor:
    return tf.concat([x**d for d in range(1, degree + 1)], axis=-1)


if __name__ == "__main__":
    xs = tf.linspace(0.0, 1.0, 9)[:, None]
    ys = tf.sin(6.0 * xs)
    where = tf.constant([[0.1], [0.5], [0.77]])
    mean, variance = posterior(xs, ys, where)
    print(log_likelihood([mean[:, 0], mean[:, 0] + 0.1], mean, variance), polynomial_features(xs, 3).shape)
