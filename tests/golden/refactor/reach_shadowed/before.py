import tensorflow as tf


def build(tf):
    def step(x):
        return x
    return step


class A:
    tf = 3

    def f(self, x):
        return x

    def outer(self):
        def inner(x):
            return x
        return inner
