import os
os.environ['CUDA_VISIBLE_DEVICES'] = ''
import numpy as np


def f(x):
    return x
