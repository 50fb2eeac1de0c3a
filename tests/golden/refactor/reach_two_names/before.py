import tensorflow
import tensorflow as tf
import tensorflow as tff


def f(x):
    return x
