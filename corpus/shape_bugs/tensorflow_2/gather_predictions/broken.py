"""Scores of the chosen classes are multiplied with a one-hot of another length."""
import tensorflow as tf

ACTIONS = 6


def q_values(states, w):
    return states @ w


def chosen(q, actions):
    return tf.reduce_sum(q * tf.one_hot(actions, ACTIONS + 1), axis=1)  # BUG raises: (5, 6) and (5, 7)


q = q_values(tf.ones([5, 3]), tf.ones([3, ACTIONS]))
print(chosen(q, tf.constant([0, 1, 2, 3, 4])))
