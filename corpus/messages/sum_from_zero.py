"""TypeError: Input 'y' of 'AddV2' Op has type float32 that does not match type int32

A sum over a tensor loop that starts as the Python number 0 is an int32.
"""
import tensorflow as tf


@tf.function
def total(x):
    result = 0
    for value in x:  # TR307
        result += value
    return result


total(tf.ones([3]))
