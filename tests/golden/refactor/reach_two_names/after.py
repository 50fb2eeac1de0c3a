import tensorflow
import tensorflow as tf
import tensorflow as tff


@tf.function(input_signature=[tf.TensorSpec([None, 28, 28], tf.float32)], reduce_retracing=True)
def f(x):
    return x
