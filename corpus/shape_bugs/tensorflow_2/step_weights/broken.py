"""Losses of steps weighted with a weight for each example."""
import tensorflow as tf


def sequence_loss(logits, targets, weights):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)  # BUG raises: (6, 9) * (6,)


@tf.function
def evaluate(states, kernel, targets, weights):
    logits = tf.einsum("btd,dv->btv", states, kernel)
    return sequence_loss(logits, targets, weights)


value = evaluate(tf.random.normal((6, 9, 12)), tf.random.normal((12, 30)), tf.ones((6, 9), tf.int32), tf.ones((6,)))
print(float(value) > 0)
