import tensorflow


@tensorflow.function(input_signature=[tensorflow.TensorSpec([None], tensorflow.float32)])
def f(x):
    return x
