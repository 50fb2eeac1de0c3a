import tensorflow


@tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 28, 28], tensorflow.float32)], reduce_retracing=True)
def f(x):
    return x
