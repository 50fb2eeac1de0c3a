import tensorflow as tf

import loader


def train_step(images):
    scores = images
    for _ in range(20):
        scores = tf.nn.relu(scores * 2.0) + 1.0
    return loader.normalise(scores)
