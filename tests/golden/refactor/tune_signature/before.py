import tensorflow


@tensorflow.function(input_signature=(tensorflow.TensorSpec([2], 'float32'),))
def f(x):
    return x
