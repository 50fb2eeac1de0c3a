"""State space models: Kalman filter with tf.scan, HMM forward-backward, particle filter, ODE solver."""
import math

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)


class LinearGaussian(tf.Module):
    def __init__(self, dim_z, dim_x, name=None):
        super().__init__(name=name)
        self.A = tf.Variable(0.9 * tf.eye(dim_z), name="A")
        self.C = tf.Variable(tf.random.normal([dim_x, dim_z]), name="C")
        self.log_q = tf.Variable(tf.zeros([dim_z]))
        self.log_r = tf.Variable(tf.zeros([dim_x]))

    @property
    def Q(self):
        return tf.linalg.diag(tf.exp(self.log_q))

    @property
    def R(self):
        return tf.linalg.diag(tf.exp(self.log_r))

    def predict(self, mean, cov):
        return tf.linalg.matvec(self.A, mean), self.A @ cov @ tf.transpose(self.A) + self.Q

    def update(self, mean, cov, obs):
        s = self.C @ cov @ tf.transpose(self.C) + self.R
        gain = tf.transpose(tf.linalg.solve(s, self.C @ cov))
        innovation = obs - tf.linalg.matvec(self.C, mean)
        new_mean = mean + tf.linalg.matvec(gain, innovation)
        new_cov = cov - gain @ self.C @ cov
        chol = tf.linalg.cholesky(s)
        white = tf.linalg.triangular_solve(chol, innovation[:, None])
        ll = -0.5 * tf.reduce_sum(white ** 2) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))
        return new_mean, new_cov, ll

    def filter(self, observations):
        d = self.A.shape[0]
        state = (tf.zeros([d]), tf.eye(d), tf.constant(0.0))

        def step(carry, obs):
            mean, cov, _ = carry
            mean, cov = self.predict(mean, cov)
            return self.update(mean, cov, obs)

        return tf.scan(step, observations, initializer=state)


def hmm_forward(log_pi, log_a, log_b):
    alphas = [log_pi + log_b[0]]
    for t in range(1, log_b.shape[0]):
        alphas.append(tf.reduce_logsumexp(alphas[-1][:, None] + log_a, axis=0) + log_b[t])
    alpha = tf.stack(alphas)
    return alpha, tf.reduce_logsumexp(alpha[-1])


def hmm_backward(log_a, log_b):
    k = log_a.shape[0]
    beta = tf.zeros([k])
    betas = [beta]
    for t in reversed(range(log_b.shape[0] - 1)):
        beta = tf.reduce_logsumexp(log_a + log_b[t + 1] + beta, axis=1)
        betas.insert(0, beta)
    return tf.stack(betas)


def posteriors(alpha, beta):
    gamma = alpha + beta
    return tf.nn.softmax(gamma, axis=1)


def gaussian_log_prob(x, mu, sigma):
    z = (x[:, None] - mu[None, :]) / sigma
    return -0.5 * z ** 2 - tf.math.log(sigma) - 0.5 * math.log(2 * math.pi)


def systematic_resample(weights, n):
    positions = (tf.range(n, dtype=tf.float32) + tf.random.uniform([])) / n
    return tf.searchsorted(tf.cumsum(weights), positions)


def particle_filter(observations, n_particles=64):
    particles = tf.random.normal([n_particles])
    means = tf.TensorArray(tf.float32, size=observations.shape[0])
    for t in range(observations.shape[0]):
        particles = 0.9 * particles + tf.random.normal([n_particles], stddev=0.3)
        logw = -0.5 * (observations[t] - particles) ** 2
        weights = tf.nn.softmax(logw)
        means = means.write(t, tf.reduce_sum(weights * particles))
        idx = tf.clip_by_value(systematic_resample(weights, n_particles), 0, n_particles - 1)
        particles = tf.gather(particles, idx)
    return means.stack(), particles


def rk4_step(f, t, y, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lorenz(t, y, sigma=10.0, rho=28.0, beta=8.0 / 3):
    x, yy, z = tf.unstack(y, axis=-1)
    return tf.stack([sigma * (yy - x), x * (rho - z) - yy, x * yy - beta * z], axis=-1)


def integrate(f, y0, t0, t1, steps):
    ts = tf.linspace(t0, t1, steps + 1)
    dt = (t1 - t0) / steps
    ys = [y0]
    for t in ts[:-1]:
        ys.append(rk4_step(f, t, ys[-1], dt))
    return ts, tf.stack(ys, axis=1)


def main():
    model = LinearGaussian(3, 2)
    obs = tf.constant(np.random.randn(12, 2), tf.float32)
    with tf.GradientTape() as tape:
        means, covs, ll = model.filter(obs)
        loss = -tf.reduce_sum(ll)
    grads = tape.gradient(loss, model.trainable_variables)
    print(means.shape, covs.shape, float(loss), len(grads))
    series = tf.random.normal([15])
    log_b = gaussian_log_prob(series, tf.constant([-1.0, 0.0, 1.0]), tf.constant(0.5))
    log_a = tf.math.log(tf.fill([3, 3], 1.0 / 3))
    alpha, evidence = hmm_forward(tf.math.log(tf.fill([3], 1.0 / 3)), log_a, log_b)
    gamma = posteriors(alpha, hmm_backward(log_a, log_b))
    means, _ = particle_filter(series)
    ts, path = integrate(lorenz, tf.random.normal([5, 3]), 0.0, 0.5, 10)
    print(gamma.shape, float(evidence), means.shape, ts.shape, path.shape)


main()
