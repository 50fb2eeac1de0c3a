"""Losses and scores. Tensors of shape [batch, horizon] go in, scalars come out."""

import numpy as np
import tensorflow as tf


def mean_squared_error(predicted, actual):
    return tf.reduce_mean(tf.square(predicted - actual))


def huber(predicted, actual, delta=1.0):
    error = tf.abs(predicted - actual)
    quadratic = tf.minimum(error, delta)
    return tf.reduce_mean(0.5 * quadratic ** 2 + delta * (error - quadratic))


def skill(predicted, actual):
    """1 for a perfect forecast, 0 for one as good as the mean level."""
    error = tf.reduce_sum(tf.square(actual - predicted))
    spread = tf.reduce_sum(tf.square(actual - tf.reduce_mean(actual)))
    return 1.0 - tf.math.divide_no_nan(error, spread)


def forecast_report(predicted, actual):
    """Everything that the report page shows: long, pure, and called with tensors only."""
    error = predicted - actual
    absolute = tf.abs(error)
    squared = tf.square(error)
    bias = tf.reduce_mean(error, axis=0)
    mae = tf.reduce_mean(absolute, axis=0)
    rmse = tf.sqrt(tf.reduce_mean(squared, axis=0))
    worst = tf.reduce_max(absolute, axis=0)
    centred_p = predicted - tf.reduce_mean(predicted, axis=0)
    centred_a = actual - tf.reduce_mean(actual, axis=0)
    covariance = tf.reduce_mean(centred_p * centred_a, axis=0)
    deviation_p = tf.sqrt(tf.reduce_mean(tf.square(centred_p), axis=0))
    deviation_a = tf.sqrt(tf.reduce_mean(tf.square(centred_a), axis=0))
    correlation = tf.math.divide_no_nan(covariance, deviation_p * deviation_a)
    rising = tf.cast(predicted[:, -1] > predicted[:, 0], tf.float32)
    rose = tf.cast(actual[:, -1] > actual[:, 0], tf.float32)
    direction = tf.reduce_mean(tf.cast(tf.equal(rising, rose), tf.float32))
    return tf.concat([bias, mae, rmse, worst, correlation, [direction]], axis=0)


def median_error(predicted, actual):
    """NumPy has a median: fine as eager code, an error in a graph."""
    return np.median(np.abs(predicted - actual))


def exceedance(predicted, threshold):
    """The share of forecasts above a level; the level is a Python number that the caller varies."""
    above = tf.cast(predicted > threshold, tf.float32)
    return tf.reduce_mean(above)


@tf.function
def exceedance_curve(predicted, threshold):
    """Traced anew for every threshold, since those are Python numbers."""
    return exceedance(predicted, threshold)


@tf.function
def describe(name, count):
    """A graph with nothing to compute."""
    return "%s: %d windows" % (name, count)
