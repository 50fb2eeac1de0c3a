import tensorflow
import tensorflow as tf


def reset():
    global tf
    tf = None


@tensorflow.function
def f(x):
    return x
