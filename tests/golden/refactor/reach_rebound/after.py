import tensorflow
import tensorflow as tf

tf = wrap(tf)


@tensorflow.function
def f(x):
    return x
