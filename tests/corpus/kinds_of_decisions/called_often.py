"""Decisions that only large packages show: a function that is safe as a graph and pays off, and a first time that decides more."""

import tensorflow as tf


def smoothed(x):
    for _ in range(20):
        x = tf.tanh(x) * 0.5 + tf.sin(x)
    return x


total = tf.zeros([8])
for _ in range(5000):
    total += smoothed(tf.ones([8]))


def evaluation(variables, loss):
    """An evaluation that looks for unconnected gradients the first time only."""
    first_call = True

    def evaluate(x):
        nonlocal first_call
        with tf.GradientTape() as tape:
            value = loss(x)
        if first_call:
            gradients = tape.gradient(value, variables)
            first_call = False
        else:
            gradients = tape.gradient(value, variables, unconnected_gradients="zero")
        return value, gradients

    return tf.function(evaluate)
