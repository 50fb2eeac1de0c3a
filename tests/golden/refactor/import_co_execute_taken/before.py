import tensorflow as tf
from mine import co_execute


def f(x):
    return x
