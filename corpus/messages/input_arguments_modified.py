"""ValueError: ... should not modify its Python input arguments. Modifying a copy is allowed

Or the change happens once, while the function is traced: an argument or default that the function changes keeps no state in a graph.
"""
import tensorflow as tf


@tf.function
def remember(x, seen=[]):
    seen.append(1)  # TR317
    return x * 2.0


remember(tf.ones([3]))
