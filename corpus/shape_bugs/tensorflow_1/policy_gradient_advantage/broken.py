"""A policy gradient: the value network gives a column, the rewards are a row."""
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self, n_states, n_actions):
        self.states = tf.placeholder(tf.float32, [None, n_states])
        self.actions = tf.placeholder(tf.int32, [None])
        self.rewards = tf.placeholder(tf.float32, [None])
        policy_w = tf.Variable(tf.ones([n_states, n_actions]) * 0.01)
        value_w = tf.Variable(tf.ones([n_states, 1]) * 0.5)
        self.log_probabilities = tf.nn.log_softmax(tf.matmul(self.states, policy_w))
        self.value = tf.matmul(self.states, value_w)
        self.loss = self.build_loss(n_actions)

    def build_loss(self, n_actions):
        chosen = tf.reduce_sum(self.log_probabilities * tf.one_hot(self.actions, n_actions), axis=1)
        advantage = self.rewards - self.value  # BUG silent: (N,) - (N, 1) is (N, N)
        return -tf.reduce_mean(chosen * tf.stop_gradient(advantage))


agent = Agent(4, 2)
states = np.arange(20.0).reshape(5, 4)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {agent.states: states, agent.actions: [0, 1, 1, 0, 1], agent.rewards: [1.0, 2.0, 3.0, 4.0, 0.0]}
    print(sess.run([agent.loss, agent.value], feed))
