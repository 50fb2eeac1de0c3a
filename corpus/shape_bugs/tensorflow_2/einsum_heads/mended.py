"""An einsum whose letters do not follow the order of the axes."""
import tensorflow as tf


def attend(q, k):
    return tf.einsum("bhqd,bhkd->bhqk", q, k)


def project(x, heads):
    x = tf.reshape(x, [x.shape[0], x.shape[1], heads, -1])
    return tf.transpose(x, [0, 2, 1, 3])


x = tf.random.normal([2, 9, 32])
print(attend(project(x, 4), project(x, 4)).shape)
