"""InaccessibleTensorError: <tf.Tensor ...> is out of scope and cannot be used here

AutoGraph turns a loop over a tensor or dataset into `tf.while_loop`. A Python list filled in the loop holds tensors of the loop's own graph.
"""
import tensorflow as tf


@tf.function
def squares(numbers):
    found = []
    for number in numbers:
        found.append(number * number)  # TR308
    return tf.stack(found)


squares(tf.range(4))
