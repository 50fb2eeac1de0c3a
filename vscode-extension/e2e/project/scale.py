import tensorflow as tf


def smooth(values):
    for _ in range(8):
        values = tf.nn.relu(values * 0.5 + tf.roll(values, 1, axis=0))
    return tf.reduce_mean(values)


for _ in range(1000):
    smooth(tf.ones([4, 4]))
