"""A padding mask of the batch is added to the scores of all heads without new axes."""
import tensorflow as tf


def create_padding_mask(tokens):
    mask = tf.cast(tf.equal(tokens, 0), tf.float32)
    return mask[:, tf.newaxis, tf.newaxis, :]


def masked_softmax(scores, mask):
    scores = scores + mask * -1e9
    return tf.nn.softmax(scores)


tokens = tf.constant([[1, 2, 3, 4, 5, 0, 0, 0, 0, 0]] * 8)
scores = tf.random.normal([8, 4, 10, 10])
print(masked_softmax(scores, create_padding_mask(tokens)).shape)
