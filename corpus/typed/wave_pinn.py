"""A physics-informed network for the wave equation: nested gradient tapes, collocation points, Latin hypercube sampling, float64."""

import numpy as np
import tensorflow as tf

DTYPE = "float64"
tf.keras.backend.set_floatx(DTYPE)
tf.random.set_seed(0)
np.random.seed(0)


class Domain:
    def __init__(self, lower, upper):
        self.lower = np.asarray(lower, dtype=DTYPE)
        self.upper = np.asarray(upper, dtype=DTYPE)

    @property
    def dim(self):
        return self.lower.shape[0]

    def latin_hypercube(self, n):
        cut = np.linspace(0, 1, n + 1)
        u = np.random.rand(n, self.dim)
        points = cut[:n, None] + u * (cut[1:] - cut[:n])[:, None]
        for j in range(self.dim):
            order = np.random.permutation(n)
            points[:, j] = points[order, j]
        return self.lower + points * (self.upper - self.lower)

    def boundary(self, n):
        t = np.random.uniform(self.lower[0], self.upper[0], (n, 1))
        left = np.hstack([t, np.full_like(t, self.lower[1])])
        right = np.hstack([t, np.full_like(t, self.upper[1])])
        return np.vstack([left, right])


def exact_solution(points, speed=1.0):
    t, x = points[:, 0:1], points[:, 1:2]
    return np.sin(np.pi * x) * np.cos(speed * np.pi * t)


class FourierFeatures(tf.keras.layers.Layer):
    def __init__(self, count, sigma=1.0, **kwargs):
        super().__init__(**kwargs)
        self.count = count
        self.sigma = sigma

    def build(self, input_shape):
        self.B = self.add_weight(
            name="B",
            shape=(int(input_shape[-1]), self.count),
            initializer=tf.keras.initializers.RandomNormal(stddev=self.sigma),
            trainable=False,
        )

    def call(self, x):
        projection = 2.0 * np.pi * tf.matmul(x, self.B)
        return tf.concat([tf.sin(projection), tf.cos(projection)], axis=-1)


class PINN(tf.keras.Model):
    def __init__(self, lb, ub, hidden=(16, 16), features=4):
        super().__init__()
        self.lb = tf.constant(lb, dtype=DTYPE)
        self.ub = tf.constant(ub, dtype=DTYPE)
        self.fourier = FourierFeatures(features)
        self.hidden = [tf.keras.layers.Dense(n, activation="tanh") for n in hidden]
        self.out = tf.keras.layers.Dense(1)
        self.speed = tf.Variable(0.8, dtype=DTYPE, trainable=True, name="speed")

    def call(self, X):
        Z = 2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0
        Z = self.fourier(Z)
        for layer in self.hidden:
            Z = layer(Z)
        return self.out(Z)


class PINNSolver:
    def __init__(self, model, X_r):
        self.model = model
        self.t = X_r[:, 0:1]
        self.x = X_r[:, 1:2]
        self.hist = []
        self.iter = 0

    def get_r(self):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(self.t)
            outer.watch(self.x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(self.t)
                inner.watch(self.x)
                u = self.model(tf.stack([self.t[:, 0], self.x[:, 0]], axis=1))
            u_t = inner.gradient(u, self.t)
            u_x = inner.gradient(u, self.x)
        u_tt = outer.gradient(u_t, self.t)
        u_xx = outer.gradient(u_x, self.x)
        del inner, outer
        return self.fun_r(self.t, self.x, u_tt, u_xx)

    def fun_r(self, t, x, u_tt, u_xx):
        return u_tt - self.model.speed**2 * u_xx

    def loss_fn(self, X, u):
        r = self.get_r()
        phi_r = tf.reduce_mean(tf.square(r))
        loss = phi_r
        for i in range(len(X)):
            u_pred = self.model(X[i])
            loss += tf.reduce_mean(tf.square(u[i] - u_pred))
        return loss

    def get_grad(self, X, u):
        with tf.GradientTape(persistent=True) as tape:
            loss = self.loss_fn(X, u)
        g = tape.gradient(loss, self.model.trainable_variables)
        return loss, g

    def solve_with_optimizer(self, optimizer, X, u, N=2):
        def train_step():
            loss, grad_theta = self.get_grad(X, u)
            optimizer.apply_gradients(zip(grad_theta, self.model.trainable_variables))
            return loss

        for i in range(N):
            loss = train_step()
            self.hist.append(loss.numpy())

    def get_weight_tensor(self):
        weight_list = []
        shape_list = []
        for v in self.model.variables:
            shape_list.append(v.shape)
            weight_list.extend(v.numpy().flatten())
        return tf.convert_to_tensor(weight_list), shape_list

    def set_weight_tensor(self, weight_tensor):
        idx = 0
        for v in self.model.variables:
            vs = v.shape
            if len(vs) == 2:
                sw = vs[0] * vs[1]
                new_val = tf.reshape(weight_tensor[idx : idx + sw], (vs[0], vs[1]))
                idx += sw
            elif len(vs) == 1:
                new_val = weight_tensor[idx : idx + vs[0]]
                idx += vs[0]
            else:
                new_val = weight_tensor[idx]
                idx += 1
            v.assign(tf.cast(new_val, DTYPE))


def relative_error(u_pred, u):
    return np.linalg.norm(u - u_pred, 2) / np.linalg.norm(u, 2)


def main():
    domain = Domain([0.0, 0.0], [1.0, 1.0])
    X_r = tf.constant(domain.latin_hypercube(24), dtype=DTYPE)
    X_b = domain.boundary(5)
    X_0 = np.column_stack([np.zeros(8), np.linspace(0, 1, 8)])
    X_data = [tf.constant(X_0), tf.constant(X_b)]
    u_data = [tf.constant(exact_solution(X_0)), tf.zeros((10, 1), dtype=DTYPE)]
    model = PINN(domain.lower, domain.upper)
    model(X_r[:1])
    solver = PINNSolver(model, X_r)
    solver.solve_with_optimizer(tf.keras.optimizers.Adam(1e-3), X_data, u_data)
    flat, shapes = solver.get_weight_tensor()
    solver.set_weight_tensor(flat)
    T, X = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 7))
    grid = np.vstack([T.flatten(), X.flatten()]).T
    upred = model(tf.cast(grid, DTYPE))
    U = upred.numpy().reshape(7, 6)
    print(U.shape, relative_error(upred.numpy(), exact_solution(grid)) >= 0, flat.shape, len(shapes))


if __name__ == "__main__":
    main()
