import numpy as np; import keras


def f(x):
    return x
