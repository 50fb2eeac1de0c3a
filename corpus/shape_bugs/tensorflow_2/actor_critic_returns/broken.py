"""Actor-critic: returns are a vector, the critic gives a column."""
import tensorflow as tf


class ActorCritic(tf.keras.Model):
    def __init__(self, num_actions):
        super().__init__()
        self.common = tf.keras.layers.Dense(8, activation="relu", kernel_initializer="ones")
        self.actor = tf.keras.layers.Dense(num_actions, kernel_initializer="ones")
        self.critic = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        x = self.common(inputs)
        return self.actor(x), self.critic(x)


def expected_returns(rewards, gamma=0.9):
    running, found = 0.0, []
    for reward in rewards[::-1]:
        running = reward + gamma * running
        found.append(running)
    return tf.stack(found[::-1])


def critic_loss(values, returns):
    advantage = returns - values  # BUG silent: (6,) - (6, 1)
    return tf.reduce_sum(tf.square(advantage))


model = ActorCritic(2)
states = tf.reshape(tf.range(24, dtype=tf.float32), [6, 4]) / 24.0
_, values = model(states)
returns = expected_returns([1.0, 0.0, 2.0, 1.0, 0.5, 3.0])
print(critic_loss(values, returns))
