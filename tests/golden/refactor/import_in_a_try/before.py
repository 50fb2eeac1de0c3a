try:
    import json5 as json
except ImportError:
    import json


def f(x):
    return x
