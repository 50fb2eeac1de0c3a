"""The loss of each example is summed along the wrong axis before it is weighted."""
import tensorflow as tf


def weighted_loss(y_true, y_pred, sample_weight):
    squared = tf.square(y_true - y_pred)
    per_example = tf.reduce_mean(squared, axis=1)
    return tf.reduce_mean(per_example * sample_weight)


def step(batch):
    x, y, weight = batch
    return weighted_loss(y, tf.tanh(x), weight)


print(step((tf.ones([16, 7]), tf.zeros([16, 7]), tf.ones([16]))))
