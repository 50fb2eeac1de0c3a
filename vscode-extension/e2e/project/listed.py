import tensorflow as tf


def listed(values):
    for _ in range(20):
        values = tf.nn.relu(values + 1.0)
    return values


for _ in range(1000):
    listed(tf.ones([4, 4]))
