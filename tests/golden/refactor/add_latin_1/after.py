# -*- coding: latin-1 -*-
import tensorflow as tf

@tf.function
def f(größe):
    return größe  # é
