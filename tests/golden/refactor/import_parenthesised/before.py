import os

from numpy import (
    array,  # one
    zeros,
)


def f(x):
    return x
