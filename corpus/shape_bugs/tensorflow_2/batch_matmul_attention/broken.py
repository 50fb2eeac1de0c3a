"""Scaled dot-product attention without the transpose of the keys."""
import tensorflow as tf


def scaled_dot_product_attention(q, k, v):
    logits = tf.matmul(q, k)  # BUG raises: (2, 4, 9, 16) by (2, 4, 9, 16)
    logits = logits / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v)


def split_heads(x, heads):
    x = tf.reshape(x, [x.shape[0], x.shape[1], heads, x.shape[2] // heads])
    return tf.transpose(x, [0, 2, 1, 3])


x = tf.random.normal([2, 9, 64])
heads = split_heads(x, 4)
print(scaled_dot_product_attention(heads, heads, heads).shape)
