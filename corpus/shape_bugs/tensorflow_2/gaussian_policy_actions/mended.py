"""PPO with a Gaussian policy: actions are a vector, means a column."""
import numpy as np
import tensorflow as tf


class GaussianPolicy(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(32, activation="tanh")
        self.mean = tf.keras.layers.Dense(1)
        self.log_std = tf.Variable(tf.zeros([1]))

    def call(self, states):
        return self.mean(self.hidden(states))

    def log_prob(self, states, actions):
        mean = self(states)
        std = tf.exp(self.log_std)
        return -0.5 * tf.square((actions[:, None] - mean) / std) - self.log_std


def ppo_loss(policy, states, actions, old_log_probs, advantages):
    ratio = tf.exp(tf.reduce_mean(policy.log_prob(states, actions), axis=-1) - old_log_probs)
    return -tf.reduce_mean(tf.minimum(ratio * advantages, tf.clip_by_value(ratio, 0.8, 1.2) * advantages))


states = np.random.randn(64, 3).astype("float32")
actions = np.random.randn(64).astype("float32")
print(float(ppo_loss(GaussianPolicy(), states, actions, np.zeros(64, "float32"), np.ones(64, "float32"))))
