import tensorflow.keras


def f(x):
    return x
