import sys

if sys.argv:
    pass
else:
    pass


def f(x):
    return x
