"""Deep Q-learning of a walk to the right, with a replay buffer in Python."""

import random
from collections import deque

import numpy as np
import tensorflow as tf

STATES = 6
GAMMA = 0.9


class Corridor:
    """An environment: the agent starts at the left and is paid at the right end."""

    def __init__(self):
        self.position = 0

    def reset(self):
        self.position = 0
        return self.observe()

    def observe(self):
        state = np.zeros(STATES, dtype="float32")
        state[self.position] = 1.0
        return state

    def step(self, action):
        self.position = min(max(self.position + (1 if action == 1 else -1), 0), STATES - 1)
        done = self.position == STATES - 1
        return self.observe(), 1.0 if done else -0.01, done


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, count):
        batch = random.sample(self.memory, count)
        states, actions, rewards, following, done = map(np.array, zip(*batch))
        return (
            tf.constant(states, tf.float32),
            tf.constant(actions, tf.int32),
            tf.constant(rewards, tf.float32),
            tf.constant(following, tf.float32),
            tf.constant(done, tf.float32),
        )

    def __len__(self):
        return len(self.memory)


def make_network():
    return tf.keras.Sequential(
        [
            tf.keras.Input((STATES,)),
            tf.keras.layers.Dense(24, activation="relu"),
            tf.keras.layers.Dense(24, activation="relu"),
            tf.keras.layers.Dense(2),
        ]
    )


class Agent:
    def __init__(self):
        self.q_net = make_network()
        self.target_net = make_network()
        self.optimizer = tf.keras.optimizers.Adam(5e-3)
        self.epsilon = 1.0
        self.update_target()

    def update_target(self):
        for target, source in zip(self.target_net.variables, self.q_net.variables):
            target.assign(source)

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(2)
        values = self.q_net(state[np.newaxis, :])
        return int(np.argmax(values.numpy()[0]))

    def learn(self, states, actions, rewards, following, done):
        best = tf.reduce_max(self.target_net(following), axis=1)
        targets = rewards + GAMMA * best * (1.0 - done)
        with tf.GradientTape() as tape:
            values = self.q_net(states)
            chosen = tf.reduce_sum(values * tf.one_hot(actions, 2), axis=1)
            loss = tf.reduce_mean(tf.square(targets - chosen))
        gradients = tape.gradient(loss, self.q_net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.q_net.trainable_variables))
        return loss


def main():
    random.seed(1)
    tf.random.set_seed(1)
    environment, agent, buffer = Corridor(), Agent(), ReplayBuffer(500)
    steps = 0
    for episode in range(25):
        state, done, count = environment.reset(), False, 0
        while not done and count < 30:
            action = agent.act(state)
            following, reward, done = environment.step(action)
            buffer.push(state, action, reward, following, float(done))
            state, count, steps = following, count + 1, steps + 1
            if len(buffer) >= 32:
                loss = agent.learn(*buffer.sample(32))
        agent.epsilon = max(0.1, agent.epsilon * 0.9)
        if episode % 5 == 0:
            agent.update_target()
            print(f"episode {episode} epsilon {agent.epsilon:.2f}")
    print("trained", bool(np.isfinite(float(loss))))


if __name__ == "__main__":
    main()
