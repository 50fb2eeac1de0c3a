"""A state made for the full batch meets the last one of an epoch."""
import tensorflow as tf

BATCH_SIZE = 16
UNITS = 8
kernel = tf.Variable(tf.random.normal([5 + UNITS, UNITS]))


def initialize_hidden_state():
    return tf.zeros([BATCH_SIZE, UNITS])


def advance(inputs, hidden):
    return tf.tanh(tf.matmul(tf.concat([inputs, hidden], axis=1), kernel))


samples = tf.random.normal([50, 5])
batches = tf.data.Dataset.from_tensor_slices(samples).batch(BATCH_SIZE, drop_remainder=True)
for inputs in batches:
    hidden = advance(inputs, initialize_hidden_state())
print(hidden.shape)
