"""Losses that are functions."""

import tensorflow as tf


def dice(target, prediction, smooth=1.0):
    target = tf.cast(tf.reshape(target, [-1]), prediction.dtype)
    prediction = tf.reshape(prediction, [-1])
    common = tf.reduce_sum(target * prediction)
    return 1.0 - (2.0 * common + smooth) / (tf.reduce_sum(target) + tf.reduce_sum(prediction) + smooth)


def focal(target, prediction, gamma=2.0, alpha=0.25):
    target = tf.cast(target, prediction.dtype)
    prediction = tf.clip_by_value(prediction, 1e-6, 1.0 - 1e-6)
    p = target * prediction + (1.0 - target) * (1.0 - prediction)
    weight = target * alpha + (1.0 - target) * (1.0 - alpha)
    return tf.reduce_mean(-weight * (1.0 - p) ** gamma * tf.math.log(p))


def combined(target, prediction):
    return dice(target, prediction) + focal(target, prediction)
