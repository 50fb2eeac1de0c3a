"""Bayesian linear regression and Gaussian mixture by hand (EM and variational), pure TF."""
import functools

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
N, D, K = 120, 4, 3


def design_matrix(x, degree):
    return tf.stack([x ** d for d in range(degree + 1)], axis=1)


def posterior(phi, t, alpha, beta):
    s_inv = alpha * tf.eye(phi.shape[1], dtype=phi.dtype) + beta * tf.transpose(phi) @ phi
    s = tf.linalg.inv(s_inv)
    m = beta * tf.linalg.matvec(s, tf.linalg.matvec(phi, t, transpose_a=True))
    return m, s


def posterior_predictive(phi_test, m, s, beta):
    mean = tf.linalg.matvec(phi_test, m)
    var = 1 / beta + tf.reduce_sum(phi_test @ s * phi_test, axis=1)
    return mean, var


def log_marginal(phi, t, alpha, beta):
    n, d = phi.shape
    m, s = posterior(phi, t, alpha, beta)
    e = beta * tf.reduce_sum((t - tf.linalg.matvec(phi, m)) ** 2) + alpha * tf.reduce_sum(m ** 2)
    return 0.5 * (d * tf.math.log(alpha) + n * tf.math.log(beta) - e + tf.linalg.logdet(s) - n * np.log(2 * np.pi))


def fit_hyper(phi, t, iters=20, lr=0.05):
    log_alpha = tf.Variable(0.0, dtype=tf.float64)
    log_beta = tf.Variable(0.0, dtype=tf.float64)
    trace = []
    for _ in range(iters):
        with tf.GradientTape() as tape:
            loss = -log_marginal(phi, t, tf.exp(log_alpha), tf.exp(log_beta))
        ga, gb = tape.gradient(loss, [log_alpha, log_beta])
        log_alpha.assign_sub(lr * ga / N)
        log_beta.assign_sub(lr * gb / N)
        trace.append(loss)
    return tf.exp(log_alpha), tf.exp(log_beta), tf.stack(trace)


def log_gaussian(x, mu, chol):
    diff = x[:, None, :] - mu[None, :, :]
    sol = tf.linalg.triangular_solve(chol, tf.transpose(diff, [1, 2, 0]))
    maha = tf.reduce_sum(sol ** 2, axis=1)
    logdet = 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)), axis=-1)
    return -0.5 * (tf.transpose(maha) + logdet + x.shape[-1] * np.log(2 * np.pi))


class GaussianMixture:
    def __init__(self, k, dim, reg=1e-4):
        self.k = k
        self.dim = dim
        self.reg = reg
        self.pi = tf.fill([k], tf.constant(1.0 / k, tf.float64))
        self.mu = tf.random.normal([k, dim], dtype=tf.float64)
        self.cov = tf.eye(dim, batch_shape=[k], dtype=tf.float64)

    def e_step(self, x):
        chol = tf.linalg.cholesky(self.cov)
        joint = tf.math.log(self.pi) + log_gaussian(x, self.mu, chol)
        norm = tf.reduce_logsumexp(joint, axis=1, keepdims=True)
        return tf.exp(joint - norm), tf.reduce_mean(norm)

    def m_step(self, x, resp):
        nk = tf.reduce_sum(resp, axis=0)
        self.pi = nk / tf.cast(tf.shape(x)[0], tf.float64)
        self.mu = tf.matmul(resp, x, transpose_a=True) / nk[:, None]
        diff = x[:, None, :] - self.mu
        cov = tf.einsum("nk,nki,nkj->kij", resp, diff, diff) / nk[:, None, None]
        self.cov = cov + self.reg * tf.eye(self.dim, dtype=tf.float64)

    def fit(self, x, iters=10, tol=1e-6):
        last = tf.constant(-np.inf, tf.float64)
        for _ in range(iters):
            resp, ll = self.e_step(x)
            self.m_step(x, resp)
            if abs(ll - last) < tol:
                break
            last = ll
        return last

    def predict(self, x):
        resp, _ = self.e_step(x)
        return tf.argmax(resp, axis=1)


def purity(assign, truth, k):
    table = tf.math.confusion_matrix(truth, assign, num_classes=k)
    return tf.reduce_sum(tf.reduce_max(table, axis=0)) / tf.reduce_sum(table)


def bootstrap(fn, x, reps=5):
    out = []
    for r in range(reps):
        idx = tf.random.uniform([x.shape[0]], maxval=x.shape[0], dtype=tf.int32)
        out.append(fn(tf.gather(x, idx)))
    stacked = tf.stack(out)
    return tf.reduce_mean(stacked, axis=0), tf.math.reduce_std(stacked, axis=0)


def main():
    rng = np.random.RandomState(3)
    x = tf.constant(rng.uniform(-1, 1, N))
    t = tf.sin(3 * x) + 0.1 * tf.constant(rng.randn(N))
    phi = design_matrix(x, D)
    alpha, beta, trace = fit_hyper(phi, t)
    m, s = posterior(phi, t, alpha, beta)
    grid = tf.linspace(tf.constant(-1.0, tf.float64), 1.0, 50)
    mean, var = posterior_predictive(design_matrix(grid, D), m, s, beta)
    truth = rng.randint(0, K, size=N)
    pts = tf.constant(rng.randn(N, 2) + 4.0 * np.eye(K)[truth][:, :2])
    gmm = GaussianMixture(K, 2)
    ll = gmm.fit(pts)
    print(float(ll), float(purity(gmm.predict(pts), truth, K)), trace.shape)
    col_mean = functools.partial(tf.reduce_mean, axis=0)
    print(bootstrap(col_mean, pts), mean.shape, var.shape)


main()
