"""Style loss on a feature map without its batch axis."""
import tensorflow as tf


def gram_matrix(features):
    result = tf.linalg.einsum('bijc,bijd->bcd', features, features)
    shape = tf.shape(features)
    return result / tf.cast(shape[1] * shape[2], tf.float32)


def style_loss(style, generated):
    return tf.add_n([tf.reduce_mean((gram_matrix(s) - gram_matrix(g)) ** 2) for s, g in zip(style, generated)])


style = [tf.random.normal((1, 8, 8, 4)), tf.random.normal((1, 4, 4, 8))]
generated = [tf.random.normal((1, 8, 8, 4)), tf.random.normal((1, 4, 4, 8))]
print(float(style_loss(style, generated)) >= 0)
