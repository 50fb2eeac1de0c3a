import tensorflow as tf


def summary(values):
    total = tf.reduce_sum(values)
    for _ in range(20):
        total = tf.sqrt(total + 1.0) * 2.0
    return total


def loud(values):
    print("values", values)
    scaled = values * 2.0
    for _ in range(20):
        scaled = tf.nn.relu(scaled + 1.0)
    return scaled


for _ in range(1000):
    summary(tf.ones([4, 4]))
    loud(tf.ones([4, 4]))
