"""Images with augmentation in the input pipeline."""

import random

import numpy as np
import tensorflow as tf

SIZE = 12


def make_images(count):
    rng = np.random.RandomState(41)
    labels = rng.randint(0, 2, count)
    images = rng.uniform(0, 64, (count, SIZE, SIZE, 3))
    for i, label in enumerate(labels):
        images[i, :, :, label] += 100.0
    return images.astype("uint8"), labels.astype("int32")


def normalise(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.resize_with_crop_or_pad(image, SIZE + 2, SIZE + 2)
    image = tf.image.random_crop(image, [SIZE, SIZE, 3])
    return tf.clip_by_value(tf.image.random_brightness(image, 0.1), 0.0, 1.0), label


def frozen_rotation(image, label):
    """A mistake that people make: Python draws once, when the pipeline is built."""
    return tf.image.rot90(image, k=random.randrange(4)), label


def pipeline(images, labels, batch, training):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(normalise)
    if training:
        dataset = dataset.shuffle(len(images), seed=5).map(augment).map(frozen_rotation)
    return dataset.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
