"""TypeError: Binding inputs to tf.function failed due to `Can not cast TensorSpec(shape=(3,), dtype=tf.int32, name=None) to TensorSpec(shape=(None,), dtype=tf.float32, name=None)`

The call does not fit the `input_signature`.
"""
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def doubled(x):
    return x * 2.0


doubled(tf.constant([1, 2, 3]))  # TR601
