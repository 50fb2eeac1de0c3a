"""A hand-written recurrent cell whose first state has the wrong width."""
import numpy as np
import tensorflow as tf

batch_size, num_steps, num_classes, state_size = 16, 5, 2, 4

x = tf.placeholder(tf.int32, [batch_size, num_steps], name='input')
init_state = tf.zeros([batch_size, num_classes])
rnn_inputs = tf.unstack(tf.one_hot(x, num_classes), axis=1)

with tf.variable_scope('rnn_cell'):
    W = tf.get_variable('W', [num_classes + state_size, state_size])
    b = tf.get_variable('b', [state_size], initializer=tf.constant_initializer(0.0))


def rnn_cell(rnn_input, state):
    return tf.tanh(tf.matmul(tf.concat([rnn_input, state], 1), W) + b)  # BUG raises: 2 + 2 columns, W has 2 + 4 rows


state = init_state
rnn_outputs = []
for rnn_input in rnn_inputs:
    state = rnn_cell(rnn_input, state)
    rnn_outputs.append(state)
final_state = rnn_outputs[-1]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(final_state, {x: np.zeros((batch_size, num_steps))}).shape)
