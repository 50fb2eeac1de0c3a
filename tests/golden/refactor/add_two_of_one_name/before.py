def f(x):
    return x


def f(x):
    return -x
