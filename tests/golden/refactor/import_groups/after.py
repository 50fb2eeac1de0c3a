import os

import keras
import numpy as np  # np
import tensorflow as tf
from keras import layers
import zlib

from . import sibling


@tf.function
def f(x):
    return x
