"""What a Python function returns in a dataset has no shape, and Keras needs one."""
import numpy as np
import tensorflow as tf


def read(index):
    return np.full((8, 8, 3), index, np.float32)


def load(index):
    image = tf.numpy_function(read, [index], tf.float32)
    image.set_shape([8, 8, 3])
    return image


conv = tf.keras.layers.Conv2D(2, 3)
dataset = tf.data.Dataset.range(4).map(load)
features = dataset.map(lambda image: conv(image[None]))
print(sum(1 for _ in features))
