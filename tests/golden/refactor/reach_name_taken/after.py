import tensorflow as tf_2
import tensorflow_probability as tf
import tensorflow_hub as tensorflow


@tf_2.function(input_signature=[tf_2.TensorSpec([None, 28, 28], tf_2.float32)], reduce_retracing=True)
def f(x):
    return x
