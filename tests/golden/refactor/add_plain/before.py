import tensorflow as tf


def step(x):
    return x * 2  # keep
