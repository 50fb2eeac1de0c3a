"""InvalidArgumentError: cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a int32 tensor [Op:AddV2]

TensorFlow does not promote dtypes as NumPy does.
"""
import tensorflow as tf

x = tf.constant([1.0, 2.0])
n = tf.constant([1, 2])
y = x + n  # TR403
