"""A model that came over from TensorFlow 1: compat.v1 names, scopes, an optimizer with minimize."""

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Network(object):
    def __init__(self, hidden):
        with tf.name_scope("network"):
            self.w1 = tf.Variable(tf.random.truncated_normal([4, hidden], stddev=0.3, seed=1), name="w1")
            self.b1 = tf.Variable(tf.zeros([hidden]), name="b1")
            self.w2 = tf.Variable(tf.random.truncated_normal([hidden, 1], stddev=0.3, seed=2), name="w2")
            self.b2 = tf.Variable(tf.zeros([1]), name="b2")

    def variables(self):
        return [self.w1, self.b1, self.w2, self.b2]

    def forward(self, x, keep_prob):
        with tf.name_scope("forward"):
            hidden = tf.nn.relu(v1.nn.xw_plus_b(x, self.w1, self.b1))
            hidden = tf.nn.dropout(hidden, rate=1.0 - keep_prob)
            return v1.nn.xw_plus_b(hidden, self.w2, self.b2)


def l2(variables):
    return tf.add_n([tf.nn.l2_loss(v) for v in variables])


def train_step(net, optimizer, x, y, keep_prob):
    def loss():
        prediction = net.forward(x, keep_prob)
        return v1.losses.mean_squared_error(y, prediction) + 1e-3 * l2(net.variables())

    optimizer.minimize(loss, var_list=net.variables())


def evaluate(net, x, y):
    prediction = net.forward(x, 1.0)
    error = tf.reduce_mean(v1.squared_difference(prediction, y))
    spread = tf.reduce_mean(v1.squared_difference(y, tf.reduce_mean(y, keepdims=True)))
    return 1.0 - v1.div(error, spread)


def placeholder_size():
    """What is left of the graph that this once was."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4])
        total = tf.reduce_sum(x)
        with v1.Session(graph=graph) as session:
            return session.run(total, feed_dict={x: np.ones((3, 4))})


def main():
    rng = np.random.RandomState(29)
    x = rng.normal(0, 1, (256, 4)).astype("float32")
    y = (x @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.1 * rng.normal(0, 1, (256, 1))).astype("float32")
    net = Network(16)
    optimizer = v1.train.AdamOptimizer(0.01)
    inputs, targets = tf.constant(x), tf.constant(y)
    for step in range(200):
        start = (step * 32) % 256
        train_step(net, optimizer, inputs[start : start + 32], targets[start : start + 32], 0.9)
        if step % 50 == 0:
            print(step, "r2 %.2f" % evaluate(net, inputs, targets).numpy())
    print("sum", placeholder_size())


if __name__ == "__main__":
    main()
