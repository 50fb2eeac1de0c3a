import tensorflow as tf


def reset():
    global tf
    tf = None


def f(x):
    return x
