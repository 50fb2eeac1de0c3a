import os
import mypackage

import tensorflow as tf


@tf.function
def f(x):
    return x
