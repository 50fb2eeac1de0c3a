"""The labels of a sequence are shifted, its logits are not."""
import tensorflow as tf

loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(tokens, logits):
    targets = tokens[:, 1:]
    loss = loss_object(targets, logits[:, :-1])
    mask = tf.cast(targets != 0, loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


tokens = tf.ones([4, 12], tf.int32)
logits = tf.random.normal([4, 12, 30])
print(loss_function(tokens, logits).shape)
