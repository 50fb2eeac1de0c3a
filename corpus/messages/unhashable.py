"""TypeError: Could not generate a generic TraceType for ... Please verify that it is immutable/hashable. Otherwise, consider implementing the Tracing Protocol for it.

Arguments that are no tensors are part of the key under which a graph is kept, so they must have a hash.
"""
import tensorflow as tf


@tf.function
def chosen(x, names):
    return x * float(len(names))  # TR324


chosen(tf.ones([3]), {"mean"})
