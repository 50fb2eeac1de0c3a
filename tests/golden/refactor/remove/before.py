import functools

import tensorflow as tf
from tensorflow import function


class A:
    # stays
    @tf.function
    # stays, too
    def a(self, x):
        return x

    @staticmethod
    @tf.function(
        input_signature=[  # nested
            tf.TensorSpec([None], tf.float32),
        ],
    )  # goes with its line
    def b(x):
        return x

    @functools.partial(tf.function, jit_compile=True)
    @property
    def c(self):
        return 1


@function
@tf.function()
def twice(x):
    return x


def wrapped(x):
    return x


wrapped = tf.function(wrapped)
graph = tf.function


@graph
def renamed(x):
    return x


@(
    tf.function
)
def parenthesised(x): return x
