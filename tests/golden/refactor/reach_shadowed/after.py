import tensorflow
import tensorflow as tf


@tf.function
def build(tf):
    @tensorflow.function
    def step(x):
        return x
    return step


class A:
    tf = 3

    @tensorflow.function
    def f(self, x):
        return x

    @tensorflow.function
    def outer(self):
        @tf.function
        def inner(x):
            return x
        return inner
