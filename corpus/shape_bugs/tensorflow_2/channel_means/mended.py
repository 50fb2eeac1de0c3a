"""The mean colour is subtracted from images with channels first."""
import tensorflow as tf

MEAN = tf.constant([123.68, 116.78, 103.94])


def normalize(images):
    return images - tf.reshape(MEAN, [1, 3, 1, 1])


def preprocess(batch):
    batch = tf.cast(batch, tf.float32)
    return normalize(batch) / 58.8


images = tf.zeros([2, 64, 48, 3], tf.uint8)
images = tf.transpose(images, [0, 3, 1, 2])
print(preprocess(images).shape)
