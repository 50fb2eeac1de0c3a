"""A decision that only nobrainer shows among the packages of the corpus: a seed that is set again between calls."""

import tensorflow as tf


def noisy(x):
    for _ in range(20):
        x = tf.tanh(x) * 0.5 + tf.sin(x)
    return x + tf.random.normal(tf.shape(x))


for seed in range(50):
    tf.random.set_seed(seed)
    for _ in range(100):
        print(noisy(tf.ones([3])))
