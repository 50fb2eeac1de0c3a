"""TypeError: unhashable type: 'Scale'

`self` is an argument like any other. A class with `__eq__` and without `__hash__`, such as a dataclass that is not frozen, cannot be one.
"""
from dataclasses import dataclass

import tensorflow as tf


@dataclass
class Scale:
    factor: float = 2.0

    @tf.function
    def apply(self, y):
        return y * self.factor  # TR324


Scale().apply(tf.ones([3]))
