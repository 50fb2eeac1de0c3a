try:
    import tensorflow as tf
except ImportError as error:
    raise RuntimeError('needs TensorFlow') from error


def f(x):
    return x
