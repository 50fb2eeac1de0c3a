import os
import mypackage


def f(x):
    return x
