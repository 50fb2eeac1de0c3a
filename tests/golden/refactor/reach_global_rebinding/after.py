import tensorflow


def reset():
    global tf
    tf = None


@tensorflow.function
def f(x):
    return x
