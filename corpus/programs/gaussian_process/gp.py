"""Gaussian process regression with modules, parameters with transforms, and a closure to minimise."""

import numpy as np
import tensorflow as tf


class Parameter(tf.Module):
    """A positive number, kept as the inverse softplus of itself."""

    def __init__(self, value):
        super().__init__()
        self.raw = tf.Variable(np.log(np.expm1(value)), dtype=tf.float64)

    @property
    def value(self):
        return tf.nn.softplus(self.raw)


class SquaredExponential(tf.Module):
    def __init__(self, variance=1.0, lengthscale=1.0):
        super().__init__()
        self.variance = Parameter(variance)
        self.lengthscale = Parameter(lengthscale)

    def __call__(self, x, y):
        x, y = x / self.lengthscale.value, y / self.lengthscale.value
        distance = (
            tf.reduce_sum(tf.square(x), 1)[:, None]
            - 2.0 * tf.matmul(x, y, transpose_b=True)
            + tf.reduce_sum(tf.square(y), 1)[None, :]
        )
        return self.variance.value * tf.exp(-0.5 * distance)


class GPR(tf.Module):
    def __init__(self, data, kernel, noise=0.1):
        super().__init__()
        self.data = data
        self.kernel = kernel
        self.noise = Parameter(noise)

    def _cholesky(self):
        x, _ = self.data
        k = self.kernel(x, x)
        return tf.linalg.cholesky(k + self.noise.value * tf.eye(x.shape[0], dtype=k.dtype))

    def log_marginal_likelihood(self):
        _, y = self.data
        chol = self._cholesky()
        alpha = tf.linalg.triangular_solve(chol, y)
        count = tf.cast(tf.shape(y)[0], y.dtype)
        return (
            -0.5 * tf.reduce_sum(tf.square(alpha))
            - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))
            - 0.5 * count * np.log(2.0 * np.pi)
        )

    def training_loss(self):
        return -self.log_marginal_likelihood()

    def predict(self, new):
        x, y = self.data
        chol = self._cholesky()
        cross = tf.linalg.triangular_solve(chol, self.kernel(x, new))
        alpha = tf.linalg.triangular_solve(chol, y)
        mean = tf.matmul(cross, alpha, transpose_a=True)
        variance = self.kernel.variance.value - tf.reduce_sum(tf.square(cross), 0)
        return mean, variance


def optimise(closure, variables, steps):
    optimizer = tf.keras.optimizers.Adam(0.05)

    def step():
        with tf.GradientTape() as tape:
            loss = closure()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    loss = None
    for _ in range(steps):
        loss = step()
    return loss


def main():
    rng = np.random.RandomState(17)
    x = np.linspace(0, 5, 30)[:, None]
    y = np.sin(x) + 0.1 * rng.randn(30, 1)
    model = GPR((tf.constant(x), tf.constant(y)), SquaredExponential())
    loss = optimise(model.training_loss, model.trainable_variables, 150)
    print(f"loss {loss.numpy():.2f}")
    for shift in range(40):
        mean, variance = model.predict(tf.constant(np.linspace(0, 5, 10)[:, None] + 0.01 * shift))
    print("mean", np.round(mean.numpy()[:3, 0], 2), "positive", bool(tf.reduce_all(variance > 0)))


if __name__ == "__main__":
    main()
