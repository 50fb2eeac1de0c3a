from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    import tensorflow as tf


@tf.function
def f(x: 'tf.Tensor'):
    return x
