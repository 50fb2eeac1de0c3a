import tensorflow.compat.v2 as tf2


@tf2.function(input_signature=[tf2.TensorSpec([None, 28, 28], tf2.float32)], reduce_retracing=True)
def f(x):
    return x
