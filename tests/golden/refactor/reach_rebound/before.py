import tensorflow as tf

tf = wrap(tf)


def f(x):
    return x
