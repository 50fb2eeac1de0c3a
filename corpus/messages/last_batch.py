"""TypeError: Binding inputs to tf.function failed due to `Can not cast TensorSpec(shape=(1, 2), dtype=tf.float32, name=None) to TensorSpec(shape=(3, 2), dtype=tf.float32, name=None)`

The `input_signature` fixes the batch size, and the last batch of the dataset is smaller.
"""
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([3, 2], tf.float32)])  # TR602
def tanh(x):
    return tf.tanh(x)


for batch in tf.data.Dataset.from_tensor_slices(tf.ones([4, 2])).batch(3):
    tanh(batch)
