"""The loss of a sequence, summed over time before padding is masked."""
import numpy as np
import tensorflow as tf

VOCAB = 11
logits = tf.placeholder(tf.float32, [8, 6, VOCAB])
targets = tf.placeholder(tf.int32, [8, 6])


def sequence_loss(logits, targets):
    one_hot = tf.one_hot(targets, VOCAB)
    crossent = -tf.reduce_sum(one_hot * tf.nn.log_softmax(logits), axis=1)
    mask = tf.cast(tf.not_equal(targets, 0), tf.float32)
    return tf.reduce_sum(crossent * mask) / tf.reduce_sum(mask)  # BUG raises: (8, 11) and (8, 6)


loss = sequence_loss(logits, targets)
with tf.Session() as sess:
    print(sess.run(loss, {logits: np.zeros((8, 6, VOCAB)), targets: np.ones((8, 6))}))
