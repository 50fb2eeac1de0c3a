"""ValueError: loss is not finite

Your own exception, raised although the condition is false: both branches of an `if` on a tensor are traced, so `raise` runs while the graph is built.
"""
import tensorflow as tf


@tf.function
def checked(loss):
    if not tf.math.is_finite(loss):
        raise ValueError("loss is not finite")  # TR315
    return loss


checked(tf.constant(1.0))
