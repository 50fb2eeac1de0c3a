import functools

import tensorflow as tf
from tensorflow import function


class A:
    # stays
    # stays, too
    def a(self, x):
        return x

    @staticmethod
    def b(x):
        return x

    @property
    def c(self):
        return 1


def twice(x):
    return x


def wrapped(x):
    return x


wrapped = tf.function(wrapped)
graph = tf.function


@graph
def renamed(x):
    return x


def parenthesised(x): return x
