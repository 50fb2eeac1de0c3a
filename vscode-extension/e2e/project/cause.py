import tensorflow as tf


def told(values):
    print("values", values)
    return values


def watched(values):
    total = told(values) * 2.0
    for _ in range(20):
        total = tf.nn.relu(total + 1.0)
    return total


for _ in range(1000):
    watched(tf.ones([4, 4]))
