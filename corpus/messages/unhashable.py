"""TypeError: Could not generate a generic TraceType for ... Please verify that it is immutable/hashable. Otherwise, consider implementing the Tracing Protocol for it.

A traced function looks up its graphs by the arguments that are not tensors, so these must be hashable.
"""
import tensorflow as tf


@tf.function
def chosen(x, names):
    return x * float(len(names))  # TR324


chosen(tf.ones([3]), {"mean"})
