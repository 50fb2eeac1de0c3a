try:
    import json5 as json
except ImportError:
    pass


def f(x):
    return x
