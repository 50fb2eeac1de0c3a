import os
import sys

import tensorflow as tf


@tf.function
def f(x):
    return x
