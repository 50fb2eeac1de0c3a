"""Attention over time with a vector of weights that matmul takes for a matrix."""
import tensorflow as tf

batch, time, units = 4, 7, 12


def attention(outputs, attention_size):
    hidden = outputs.get_shape()[2].value if hasattr(outputs.get_shape()[2], 'value') else outputs.get_shape()[2]
    w = tf.get_variable('w_omega', [hidden, attention_size])
    flat = tf.reshape(outputs, [-1, hidden])
    v = tf.tanh(tf.matmul(flat, w))
    u = tf.get_variable('u_omega', [attention_size])
    scores = tf.matmul(v, u)  # BUG raises: u has rank 1
    alphas = tf.nn.softmax(tf.reshape(scores, [-1, outputs.shape[1]]))
    return tf.reduce_sum(outputs * tf.expand_dims(alphas, -1), 1)


rnn_outputs = tf.placeholder(tf.float32, [batch, time, units])
context = attention(rnn_outputs, 5)
print(context.shape)
