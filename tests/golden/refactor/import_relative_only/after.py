import tensorflow as tf

from . import a
from .b import c


@tf.function
def f(x):
    return x
