"""REINFORCE on a balancing toy: episodes have different lengths, so batches do too."""

import numpy as np
import tensorflow as tf


class Balance:
    """A point that drifts; the episode ends when it has left the middle."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.state = np.zeros(2, "float32")

    def reset(self):
        self.state = self.rng.uniform(-0.1, 0.1, 2).astype("float32")
        return self.state

    def step(self, action):
        push = 0.1 if action == 1 else -0.1
        position, speed = self.state
        speed = speed + push + self.rng.normal(0, 0.03)
        self.state = np.array([position + speed, speed], "float32")
        return self.state, 1.0, bool(abs(position + speed) > 1.0)


class Policy(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(16, activation="tanh")
        self.logits = tf.keras.layers.Dense(2)

    def call(self, states):
        return self.logits(self.hidden(states))


def run_episode(environment, policy, rng, limit=40):
    states, actions, rewards = [], [], []
    state, done = environment.reset(), False
    while not done and len(states) < limit:
        probabilities = tf.nn.softmax(policy(state[None, :]))[0].numpy().astype("float64")
        action = rng.choice(2, p=probabilities / probabilities.sum())
        states.append(state)
        actions.append(action)
        state, reward, done = environment.step(action)
        rewards.append(reward)
    return np.array(states), np.array(actions, "int32"), np.array(rewards, "float32")


def discounted(rewards, gamma=0.95):
    total, result = 0.0, np.zeros_like(rewards)
    for i in reversed(range(len(rewards))):
        total = rewards[i] + gamma * total
        result[i] = total
    return result


def update(policy, optimizer, states, actions, returns):
    with tf.GradientTape() as tape:
        log_probs = tf.nn.log_softmax(policy(states))
        chosen = tf.reduce_sum(log_probs * tf.one_hot(actions, 2), axis=1)
        baseline = tf.reduce_mean(returns)
        loss = -tf.reduce_mean(chosen * (returns - baseline))
    gradients = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
    return loss


def main():
    rng = np.random.RandomState(53)
    environment, policy = Balance(59), Policy()
    optimizer = tf.keras.optimizers.Adam(0.01)
    lengths = []
    for episode in range(120):
        states, actions, rewards = run_episode(environment, policy, rng)
        update(
            policy, optimizer, tf.constant(states), tf.constant(actions), tf.constant(discounted(rewards), tf.float32)
        )
        lengths.append(len(rewards))
    print("episodes", len(lengths), "more than one length", len(set(lengths)) > 1)


if __name__ == "__main__":
    main()
