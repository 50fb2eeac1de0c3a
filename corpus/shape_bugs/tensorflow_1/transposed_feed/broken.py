"""Rows and columns of the data exchanged, as in a course that keeps examples in columns."""
import numpy as np
import tensorflow as tf


def create_placeholders(n_x, n_y):
    X = tf.placeholder(tf.float32, [n_x, None], name="X")
    Y = tf.placeholder(tf.float32, [n_y, None], name="Y")
    return X, Y


def initialize_parameters():
    W1 = tf.get_variable("W1", [25, 108])
    b1 = tf.get_variable("b1", [25, 1], initializer=tf.zeros_initializer())
    W2 = tf.get_variable("W2", [6, 25])
    b2 = tf.get_variable("b2", [6, 1], initializer=tf.zeros_initializer())
    return {"W1": W1, "b1": b1, "W2": W2, "b2": b2}


def forward_propagation(X, parameters):
    Z1 = tf.add(tf.matmul(parameters['W1'], X), parameters['b1'])
    A1 = tf.nn.relu(Z1)
    return tf.add(tf.matmul(parameters['W2'], A1), parameters['b2'])


def compute_cost(Z2, Y):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=tf.transpose(Z2), labels=tf.transpose(Y)))


def model(X_train, Y_train, num_epochs=2, minibatch_size=16):
    (n_x, m) = X_train.shape
    n_y = Y_train.shape[0]
    X, Y = create_placeholders(n_x, n_y)
    parameters = initialize_parameters()
    cost = compute_cost(forward_propagation(X, parameters), Y)
    optimizer = tf.train.AdamOptimizer(0.001).minimize(cost)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(num_epochs):
            for k in range(m // minibatch_size):
                mx = X_train[:, k * minibatch_size:(k + 1) * minibatch_size]
                my = Y_train[:, k * minibatch_size:(k + 1) * minibatch_size].T
                _, c = sess.run([optimizer, cost], feed_dict={X: mx, Y: my})  # BUG raises: (16, 6) for (6, None)
    return c


images = np.random.rand(64, 6, 6, 3)
flat = images.reshape(images.shape[0], -1).T
labels = np.eye(6)[np.random.randint(0, 6, 64)].T
print(model(flat, labels) > 0)
