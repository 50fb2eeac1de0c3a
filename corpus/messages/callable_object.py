"""TypeError: ... is not a callable object

`tf.function` stands above `property`, `classmethod` or `staticmethod`; it has to stand below.
"""
import tensorflow as tf


class Model:
    scale = 2.0

    @tf.function  # TR605
    @property
    def doubled(self):
        return tf.constant(1.0) * self.scale


Model().doubled()
