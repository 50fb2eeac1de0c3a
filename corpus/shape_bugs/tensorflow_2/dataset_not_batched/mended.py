"""A dataset that was never batched is given to a convolution."""
import tensorflow as tf


def make_dataset(images):
    ds = tf.data.Dataset.from_tensor_slices(images)
    ds = ds.map(lambda image: tf.cast(image, tf.float32) / 255.0)
    return ds.shuffle(10).batch(4)


conv = tf.keras.layers.Conv2D(6, 3)


def run(dataset):
    for image in dataset:
        out = conv(image)
    return out


print(run(make_dataset(tf.zeros([12, 28, 28, 1], tf.uint8))).shape[-1])
