try:
    import tensorflow as tf
except ImportError as error:
    raise RuntimeError('needs TensorFlow') from error


@tf.function(input_signature=[tf.TensorSpec([None, 28, 28], tf.float32)], reduce_retracing=True)
def f(x):
    return x
