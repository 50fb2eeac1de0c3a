"""Time series whose features come before time in the file."""
import numpy as np
import tensorflow as tf

seq_len = 24
n_features = 6


def read_windows():
    table = np.arange(40 * 6 * 24, dtype=np.float32).reshape(40, 6, 24)
    return np.transpose(table, (0, 2, 1))


def model(x):
    wx = tf.get_variable("wx", [n_features, 12])
    wh = tf.get_variable("wh", [12, 12])
    h = tf.zeros([tf.shape(x)[0], 12])
    for step in tf.unstack(x, seq_len, axis=1):
        h = tf.tanh(tf.matmul(step, wx) + tf.matmul(h, wh))
    return h


x = tf.placeholder(tf.float32, [None, seq_len, n_features])
state = model(x)
windows = read_windows()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(state, {x: windows[:8]}).shape)
