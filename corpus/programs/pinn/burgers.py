"""A physics-informed network for Burgers' equation: derivatives by nested tapes."""

import numpy as np
import tensorflow as tf

NU = 0.01 / np.pi


class PINN(tf.Module):
    """A plain multilayer perceptron u(t, x)."""

    def __init__(self, widths):
        super().__init__()
        self.weights, self.biases = [], []
        for rows, columns in zip(widths[:-1], widths[1:]):
            scale = np.sqrt(2.0 / (rows + columns))
            self.weights.append(tf.Variable(tf.random.normal([rows, columns], stddev=scale)))
            self.biases.append(tf.Variable(tf.zeros([columns])))

    def __call__(self, t, x):
        h = tf.concat([t, x], axis=1)
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            h = tf.tanh(tf.matmul(h, w) + b)
        return tf.matmul(h, self.weights[-1]) + self.biases[-1]


def residual(model, t, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch([t, x])
            u = model(t, x)
        u_t = inner.gradient(u, t)
        u_x = inner.gradient(u, x)
    u_xx = outer.gradient(u_x, x)
    return u_t + u * u_x - NU * u_xx


def total_loss(model, collocation, boundary):
    t, x = collocation
    tb, xb, ub = boundary
    physics = tf.reduce_mean(tf.square(residual(model, t, x)))
    data = tf.reduce_mean(tf.square(model(tb, xb) - ub))
    return physics + data


def train_step(model, optimizer, collocation, boundary):
    with tf.GradientTape() as tape:
        loss = total_loss(model, collocation, boundary)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def sample_points(count):
    rng = np.random.RandomState(13)
    t = tf.constant(rng.uniform(0, 1, (count, 1)), tf.float32)
    x = tf.constant(rng.uniform(-1, 1, (count, 1)), tf.float32)
    xb = tf.constant(rng.uniform(-1, 1, (count, 1)), tf.float32)
    tb = tf.zeros_like(xb)
    return (t, x), (tb, xb, -tf.sin(np.pi * xb))


def main(steps=150):
    collocation, boundary = sample_points(64)
    model = PINN([2, 16, 16, 16, 1])
    optimizer = tf.keras.optimizers.Adam(2e-3)
    history = []
    for step in range(steps):
        loss = train_step(model, optimizer, collocation, boundary)
        if step % 30 == 0:
            history.append(loss.numpy())
            print(f"{step:4d} {loss.numpy():.3f}")
    print("falls", history[-1] < history[0])


if __name__ == "__main__":
    main()
