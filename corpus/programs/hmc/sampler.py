"""Hamiltonian Monte Carlo for a Bayesian linear regression, chains side by side."""

import numpy as np
import tensorflow as tf


class Posterior(tf.Module):
    def __init__(self, x, y, noise=0.5):
        super().__init__()
        self.x = tf.constant(x, tf.float32)
        self.y = tf.constant(y, tf.float32)
        self.noise = noise

    def log_prob(self, weights):
        """Unnormalised, for weights [chains, features]."""
        prediction = tf.matmul(weights, self.x, transpose_b=True)
        likelihood = -0.5 * tf.reduce_sum(tf.square((prediction - self.y) / self.noise), axis=1)
        prior = -0.5 * tf.reduce_sum(tf.square(weights), axis=1)
        return likelihood + prior

    def grad(self, weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            value = self.log_prob(weights)
        return tape.gradient(value, weights)


def leapfrog(target, position, momentum, step_size, steps):
    momentum = momentum + 0.5 * step_size * target.grad(position)
    for i in range(steps):
        position = position + step_size * momentum
        if i < steps - 1:
            momentum = momentum + step_size * target.grad(position)
    momentum = momentum + 0.5 * step_size * target.grad(position)
    return position, momentum


def hmc_step(target, position, step_size=0.05, steps=8):
    momentum = tf.random.normal(tf.shape(position))
    start = target.log_prob(position) - 0.5 * tf.reduce_sum(momentum**2, axis=1)
    proposed, final = leapfrog(target, position, momentum, step_size, steps)
    end = target.log_prob(proposed) - 0.5 * tf.reduce_sum(final**2, axis=1)
    accept = tf.math.log(tf.random.uniform(tf.shape(start))) < end - start
    return tf.where(accept[:, tf.newaxis], proposed, position), accept


def run_chain(target, position, count):
    samples, accepted = [], 0.0
    for _ in range(count):
        position, accept = hmc_step(target, position)
        accepted += tf.reduce_mean(tf.cast(accept, tf.float32)).numpy()
        samples.append(position.numpy())
    return np.stack(samples), accepted / count


def main():
    rng = np.random.RandomState(67)
    x = rng.normal(0, 1, (40, 3))
    y = x @ np.array([1.0, -0.5, 2.0]) + rng.normal(0, 0.5, 40)
    samples, rate = run_chain(Posterior(x, y), tf.zeros([4, 3]), 120)
    print("accepted more than half", bool(rate > 0.5), "mean", np.round(samples[40:].mean((0, 1)), 1))


if __name__ == "__main__":
    main()
