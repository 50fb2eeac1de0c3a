def f(x):
    import tensorflow as tf
    @tf.function
    def inner(y):
        return tf.square(y)
    return inner(x)
