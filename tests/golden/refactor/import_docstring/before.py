"""Doc.

More.
"""


def f(x):
    return x
