"""AttributeError: 'NoneType' object has no attribute 'factor'

A traced method refers to its object weakly. Nothing holds the object of `Scaler(2.0).apply(x)`, so `self` is None when the body runs.
"""
import tensorflow as tf


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def apply(self, x):
        return x * self.factor  # TR335


Scaler(2.0).apply(tf.ones([3]))
