import abc
import functools

import tensorflow as tf
from registry import register


class Layer:
    @staticmethod
    def a(x):
        return x

    @classmethod
    # between
    def b(cls, x):
        return x

    @property
    def c(self):
        return self.x

    @register("d", kind="layer")
    @tf.Module.with_name_scope
    def d(self, x):
        return x

    @abc.abstractmethod
    def e(self, x):
        return x


@tf.custom_gradient
def f(x):
    return x, lambda dy: dy


@register
@tf.custom_gradient
@tf.autograph.experimental.do_not_convert
def g(x):
    return x, lambda dy: dy


@tf.custom_gradient
@register
def h(x):
    return x, lambda dy: dy


def wrap(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner


@tf.function
def already(x):
    return x


async def coroutine(x):
    return x
