from . import a
from .b import c


def f(x):
    return x
