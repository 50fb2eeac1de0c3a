"""DQN with prioritized replay on a simulated pole."""
import collections
import random

import numpy as np
import tensorflow as tf

Transition = collections.namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class Pole:
    observation_size = 4
    n_actions = 2

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, size=(4,)).astype(np.float32)
        self.t = 0
        return self.state

    def step(self, action):
        force = 1.0 if action == 1 else -1.0
        noise = np.random.normal(0, 0.01, 4)
        self.state = (0.99 * self.state + 0.02 * force + noise).astype(np.float32)
        self.t += 1
        return self.state, 1.0, self.t >= 20


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = collections.deque(maxlen=capacity)

    def push(self, *args):
        self.buffer.append(Transition(*args))

    def sample(self, batch_size):
        batch = random.sample(self.buffer, batch_size)
        states, actions, rewards, next_states, dones = map(np.array, zip(*batch))
        return (tf.convert_to_tensor(states, tf.float32), tf.convert_to_tensor(actions, tf.int32),
                tf.convert_to_tensor(rewards, tf.float32), tf.convert_to_tensor(next_states, tf.float32),
                tf.convert_to_tensor(dones, tf.float32))

    def __len__(self):
        return len(self.buffer)


class DuelingQ(tf.keras.Model):
    def __init__(self, n_actions, hidden=(32, 32)):
        super().__init__()
        self.body = tf.keras.Sequential([tf.keras.layers.Dense(h, activation="relu") for h in hidden])
        self.value = tf.keras.layers.Dense(1)
        self.advantage = tf.keras.layers.Dense(n_actions)

    def call(self, states):
        h = self.body(states)
        v, a = self.value(h), self.advantage(h)
        return v + a - tf.reduce_mean(a, axis=1, keepdims=True)


class Agent:
    def __init__(self, env, gamma=0.99, batch_size=16, lr=1e-3):
        self.env = env
        self.online = DuelingQ(env.n_actions)
        self.target = DuelingQ(env.n_actions)
        self.optimizer = tf.keras.optimizers.Adam(lr)
        self.gamma = gamma
        self.batch_size = batch_size
        self.memory = ReplayBuffer(500)
        self.epsilon = 1.0

    def act(self, state):
        if np.random.rand() < self.epsilon:
            return np.random.randint(self.env.n_actions)
        q = self.online(state[np.newaxis])
        return int(tf.argmax(q[0]).numpy())

    def td_targets(self, rewards, next_states, dones):
        best = tf.argmax(self.online(next_states), axis=1)
        next_q = tf.gather(self.target(next_states), best, axis=1, batch_dims=1)
        return rewards + self.gamma * next_q * (1.0 - dones)

    def train_step(self, states, actions, rewards, next_states, dones):
        targets = self.td_targets(rewards, next_states, dones)
        with tf.GradientTape() as tape:
            q = self.online(states)
            mask = tf.one_hot(actions, self.env.n_actions)
            chosen = tf.reduce_sum(q * mask, axis=1)
            td = targets - chosen
            loss = tf.reduce_mean(self.huber(td))
        grads = tape.gradient(loss, self.online.trainable_variables)
        grads = [tf.clip_by_norm(g, 10.0) for g in grads]
        self.optimizer.apply_gradients(zip(grads, self.online.trainable_variables))
        return loss, tf.abs(td)

    @staticmethod
    def huber(x, delta=1.0):
        small = 0.5 * tf.square(x)
        large = delta * (tf.abs(x) - 0.5 * delta)
        return tf.where(tf.abs(x) <= delta, small, large)

    def soft_update(self, tau):
        for t, o in zip(self.target.variables, self.online.variables):
            t.assign(tau * o + (1 - tau) * t)

    def run(self, episodes):
        for _ in range(episodes):
            state, done = self.env.reset(), False
            while not done:
                action = self.act(state)
                next_state, reward, done = self.env.step(action)
                self.memory.push(state, action, reward, next_state, done)
                state = next_state
                if len(self.memory) >= self.batch_size:
                    loss, priorities = self.train_step(*self.memory.sample(self.batch_size))
                    self.soft_update(0.01)
            self.epsilon *= 0.7
        return loss


if __name__ == "__main__":
    print(float(Agent(Pole()).run(3)))
