"""Synthetic gauge readings and the pipeline that feeds them to a model."""

import math
import random

import numpy as np
import tensorflow as tf

WINDOW = 24
HORIZON = 6

PERIODS = (12.42, 12.0, 25.82)  # hours: the lunar, the solar and the diurnal tide


def synthetic_gauge(hours, seed=0):
    """Readings for some hours, one a row: level and air pressure, both normalised."""
    generator = np.random.default_rng(seed)
    time = np.arange(hours, dtype=np.float32)
    level = sum(np.cos(2 * math.pi * time / period) / (1 + rank) for rank, period in enumerate(PERIODS))
    pressure = np.cumsum(generator.normal(0, 0.05, hours))
    level = level - 0.3 * pressure + generator.normal(0, 0.02, hours)
    return np.stack([level, pressure], axis=-1).astype(np.float32)


def windows(readings):
    """Pairs of a window of readings and the levels of the hours after it."""
    inputs, targets = [], []
    for start in range(len(readings) - WINDOW - HORIZON):
        inputs.append(readings[start:start + WINDOW])
        targets.append(readings[start + WINDOW:start + WINDOW + HORIZON, 0])
    return np.stack(inputs), np.stack(targets)


def add_sensor_noise(inputs, targets):
    """Gauges drift: a different offset for every example."""
    offset = tf.random.normal([1, tf.shape(inputs)[-1]], stddev=0.01)
    return inputs + offset, targets


def drop_pressure(inputs, targets):
    """Now and then the barometer fails. (It never, or always, does: this is traced once.)"""
    if random.random() < 0.1:
        inputs = inputs * tf.constant([1.0, 0.0])
    return inputs, targets


def pipeline(hours=600, batch_size=32, seed=0):
    inputs, targets = windows(synthetic_gauge(hours, seed))
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets))
    dataset = dataset.shuffle(256, seed=seed)
    dataset = dataset.map(add_sensor_noise)
    dataset = dataset.map(drop_pressure)
    return dataset.batch(batch_size, drop_remainder=True).prefetch(1)
