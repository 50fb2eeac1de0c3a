import tensorflow as tf


def step(x):
    return x
