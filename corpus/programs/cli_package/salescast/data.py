"""Windows of a made-up sales series."""

import numpy as np
import tensorflow as tf


def make_series(length=600):
    rng = np.random.RandomState(23)
    time = np.arange(length)
    series = 10 + 3 * np.sin(2 * np.pi * time / 12) + 0.01 * time + rng.normal(0, 0.3, length)
    return series.astype("float32")


def split_window(window):
    """The last value is the target."""
    return window[:-1, tf.newaxis], window[-1]


def windows(series, config):
    dataset = tf.data.Dataset.from_tensor_slices(series).window(config.window + 1, shift=1, drop_remainder=True)
    dataset = dataset.flat_map(lambda window: window.batch(config.window + 1))
    return dataset.map(split_window).cache().shuffle(600, seed=4).repeat().batch(config.batch, drop_remainder=True)
