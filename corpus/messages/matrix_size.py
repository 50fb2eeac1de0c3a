"""InvalidArgumentError: ... Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]

The last size of the first matrix must be the first size of the second.
"""
import tensorflow as tf

x = tf.ones([2, 3])
w = tf.ones([4, 5])
y = tf.matmul(x, w)  # TR401
