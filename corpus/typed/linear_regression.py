"""A straight line by gradient descent with tf.Variable, and the same in closed form."""

import numpy as np
import tensorflow as tf

rng = np.random

X = np.array([3.3, 4.4, 5.5, 6.71, 6.93, 4.168, 9.779, 6.182], dtype=np.float32)
Y = np.array([1.7, 2.76, 2.09, 3.19, 1.694, 1.573, 3.366, 2.596], dtype=np.float32)
n_samples = X.shape[0]

W = tf.Variable(rng.randn(), name="weight", dtype=tf.float32)
b = tf.Variable(0.0, name="bias")
optimizer = tf.optimizers.SGD(0.01)


def linear_regression(x):
    return W * x + b


def mean_square(y_pred, y_true):
    return tf.reduce_sum(tf.pow(y_pred - y_true, 2)) / (2 * n_samples)


def run_optimization():
    with tf.GradientTape() as g:
        pred = linear_regression(X)
        loss = mean_square(pred, Y)
    gradients = g.gradient(loss, [W, b])
    optimizer.apply_gradients(zip(gradients, [W, b]))
    return loss


def normal_equations(features, targets):
    design = tf.concat([features, tf.ones_like(features[:, :1])], axis=1)
    gram = tf.matmul(design, design, transpose_a=True)
    moment = tf.matmul(design, targets[:, None], transpose_a=True)
    return tf.squeeze(tf.linalg.solve(gram, moment), axis=-1)


for step in range(1, 31):
    loss = run_optimization()
    if step % 10 == 0:
        print("step: %i, loss: %f" % (step, loss))
print(normal_equations(tf.reshape(X, [-1, 1]), tf.constant(Y)))
