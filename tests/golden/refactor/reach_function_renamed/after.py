import tensorflow as tf
from tensorflow import function as graph, float32


@graph(input_signature=[tf.TensorSpec([None, 28, 28], tf.float32)], reduce_retracing=True)
def f(x):
    return x
