"""An LSTM of several layers whose state is fed as one array, taken apart along the wrong axis."""
import numpy as np
import tensorflow as tf

num_layers, batch_size, state_size, steps = 3, 5, 8, 10

x = tf.placeholder(tf.float32, [batch_size, steps, 4])
init_state = tf.placeholder(tf.float32, [num_layers, 2, batch_size, state_size])
W = tf.get_variable("W", [4 + state_size, 4 * state_size])
b = tf.get_variable("b", [4 * state_size], initializer=tf.zeros_initializer())


def lstm_step(inputs, state):
    c, h = state
    gates = tf.matmul(tf.concat([inputs, h], 1), W) + b  # BUG raises: h is (3, 8), inputs (5, 4)
    i, j, f, o = tf.split(gates, 4, 1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.sigmoid(o) * tf.tanh(c)


layers_state = tf.unstack(init_state, axis=2)
states = [(s[0], s[1]) for s in layers_state]
state = (states[0][0], states[0][1])
for step in tf.unstack(x, axis=1):
    state = lstm_step(step, state)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: np.zeros((batch_size, steps, 4)), init_state: np.zeros((num_layers, 2, batch_size, state_size))}
    print(sess.run(state, feed)[1].shape)
