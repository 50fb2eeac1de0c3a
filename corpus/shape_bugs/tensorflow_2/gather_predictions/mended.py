"""Scores of the chosen classes are multiplied with a one-hot of another length."""
import tensorflow as tf

ACTIONS = 6


def q_values(states, w):
    return states @ w


def chosen(q, actions):
    return tf.reduce_sum(q * tf.one_hot(actions, ACTIONS), axis=1)


q = q_values(tf.ones([5, 3]), tf.ones([3, ACTIONS]))
print(chosen(q, tf.constant([0, 1, 2, 3, 4])))
