import os

import keras
import numpy as np  # np
from keras import layers
import zlib

from . import sibling


def f(x):
    return x
