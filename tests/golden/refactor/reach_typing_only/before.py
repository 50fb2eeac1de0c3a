from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf


def f(x: 'tf.Tensor'):
    return x
