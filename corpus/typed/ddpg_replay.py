"""Deep deterministic policy gradient: NumPy replay buffer, noise process, actor and critic, soft target updates (Keras example)."""

import random
from collections import deque, namedtuple

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

Transition = namedtuple("Transition", ["state", "action", "reward", "next_state", "done"])


class Pendulum:
    """A pendulum by hand: the observation is (cos, sin, velocity)."""

    observation_size = 3
    action_size = 1

    def __init__(self, horizon=15):
        self.horizon = horizon
        self.theta, self.velocity, self.steps = 0.0, 0.0, 0

    def reset(self):
        self.theta, self.velocity = np.random.uniform(-np.pi, np.pi), 0.0
        self.steps = 0
        return self._observation()

    def _observation(self):
        return np.array([np.cos(self.theta), np.sin(self.theta), self.velocity], dtype=np.float32)

    def step(self, action):
        torque = np.clip(action, -2.0, 2.0)[0]
        cost = self.theta**2 + 0.1 * self.velocity**2 + 0.001 * torque**2
        self.velocity = self.velocity + 0.05 * (15.0 * np.sin(self.theta) + 3.0 * torque)
        self.theta = self.theta + 0.05 * self.velocity
        self.steps += 1
        return self._observation(), -cost, self.steps >= self.horizon, {}


class OUActionNoise:
    def __init__(self, mean, std_deviation, theta=0.15, dt=1e-2, x_initial=None):
        self.theta = theta
        self.mean = mean
        self.std_dev = std_deviation
        self.dt = dt
        self.x_initial = x_initial
        self.reset()

    def __call__(self):
        x = (
            self.x_prev
            + self.theta * (self.mean - self.x_prev) * self.dt
            + self.std_dev * np.sqrt(self.dt) * np.random.normal(size=self.mean.shape)
        )
        self.x_prev = x
        return x

    def reset(self):
        if self.x_initial is not None:
            self.x_prev = self.x_initial
        else:
            self.x_prev = np.zeros_like(self.mean)


class Buffer:
    def __init__(self, num_states, num_actions, buffer_capacity=100, batch_size=8):
        self.buffer_capacity = buffer_capacity
        self.batch_size = batch_size
        self.buffer_counter = 0
        self.state_buffer = np.zeros((self.buffer_capacity, num_states))
        self.action_buffer = np.zeros((self.buffer_capacity, num_actions))
        self.reward_buffer = np.zeros((self.buffer_capacity, 1))
        self.next_state_buffer = np.zeros((self.buffer_capacity, num_states))

    def record(self, obs_tuple):
        index = self.buffer_counter % self.buffer_capacity
        self.state_buffer[index] = obs_tuple[0]
        self.action_buffer[index] = obs_tuple[1]
        self.reward_buffer[index] = obs_tuple[2]
        self.next_state_buffer[index] = obs_tuple[3]
        self.buffer_counter += 1

    def sample(self):
        record_range = min(self.buffer_counter, self.buffer_capacity)
        batch_indices = np.random.choice(record_range, self.batch_size)
        state_batch = tf.convert_to_tensor(self.state_buffer[batch_indices])
        action_batch = tf.convert_to_tensor(self.action_buffer[batch_indices])
        reward_batch = tf.convert_to_tensor(self.reward_buffer[batch_indices])
        reward_batch = tf.cast(reward_batch, dtype="float32")
        next_state_batch = tf.convert_to_tensor(self.next_state_buffer[batch_indices])
        return state_batch, action_batch, reward_batch, next_state_batch


class DequeMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        states, actions, rewards, next_states, dones = map(np.array, zip(*batch))
        return states, actions, rewards.astype(np.float32), next_states, dones.astype(np.float32)

    def __len__(self):
        return len(self.memory)


def get_actor(num_states, upper_bound):
    last_init = tf.random_uniform_initializer(minval=-0.003, maxval=0.003)
    inputs = layers.Input(shape=(num_states,))
    out = layers.Dense(16, activation="relu")(inputs)
    outputs = layers.Dense(1, activation="tanh", kernel_initializer=last_init)(out)
    outputs = outputs * upper_bound
    return tf.keras.Model(inputs, outputs)


def get_critic(num_states, num_actions):
    state_input = layers.Input(shape=(num_states,))
    state_out = layers.Dense(8, activation="relu")(state_input)
    action_input = layers.Input(shape=(num_actions,))
    action_out = layers.Dense(8, activation="relu")(action_input)
    concat = layers.Concatenate()([state_out, action_out])
    outputs = layers.Dense(1)(layers.Dense(16, activation="relu")(concat))
    return tf.keras.Model([state_input, action_input], outputs)


class Agent:
    def __init__(self, env, gamma=0.99, tau=0.005):
        self.gamma = gamma
        self.tau = tau
        self.actor_model = get_actor(env.observation_size, 2.0)
        self.critic_model = get_critic(env.observation_size, env.action_size)
        self.target_actor = get_actor(env.observation_size, 2.0)
        self.target_critic = get_critic(env.observation_size, env.action_size)
        self.target_actor.set_weights(self.actor_model.get_weights())
        self.target_critic.set_weights(self.critic_model.get_weights())
        self.critic_optimizer = tf.keras.optimizers.Adam(0.002)
        self.actor_optimizer = tf.keras.optimizers.Adam(0.001)
        self.noise = OUActionNoise(mean=np.zeros(1), std_deviation=0.2 * np.ones(1))

    def policy(self, state):
        sampled_actions = tf.squeeze(self.actor_model(state), axis=0)
        sampled_actions = sampled_actions.numpy() + self.noise()
        legal_action = np.clip(sampled_actions, -2.0, 2.0)
        return [np.squeeze(legal_action)]

    @tf.function
    def update(self, state_batch, action_batch, reward_batch, next_state_batch):
        with tf.GradientTape() as tape:
            target_actions = self.target_actor(next_state_batch, training=True)
            y = reward_batch + self.gamma * self.target_critic([next_state_batch, target_actions], training=True)
            critic_value = self.critic_model([state_batch, action_batch], training=True)
            critic_loss = tf.math.reduce_mean(tf.math.square(y - critic_value))
        critic_grad = tape.gradient(critic_loss, self.critic_model.trainable_variables)
        self.critic_optimizer.apply_gradients(zip(critic_grad, self.critic_model.trainable_variables))
        with tf.GradientTape() as tape:
            actions = self.actor_model(state_batch, training=True)
            critic_value = self.critic_model([state_batch, actions], training=True)
            actor_loss = -tf.math.reduce_mean(critic_value)
        actor_grad = tape.gradient(actor_loss, self.actor_model.trainable_variables)
        self.actor_optimizer.apply_gradients(zip(actor_grad, self.actor_model.trainable_variables))
        return critic_loss

    def learn(self, buffer):
        batch = buffer.sample()
        loss = self.update(*batch)
        update_target(self.target_actor.variables, self.actor_model.variables, self.tau)
        update_target(self.target_critic.variables, self.critic_model.variables, self.tau)
        return loss


def update_target(target_weights, weights, tau):
    for a, b in zip(target_weights, weights):
        a.assign(b * tau + a * (1 - tau))


def td_error(critic, states, actions, rewards, next_actions, next_states, dones):
    states, actions, next_states = (tf.cast(part, tf.float32) for part in (states, actions, next_states))
    next_q = tf.squeeze(critic([next_states, next_actions]), axis=-1)
    targets = rewards + (1.0 - dones) * 0.99 * next_q
    return tf.abs(targets - tf.squeeze(critic([states, actions]), -1))


def main():
    env = Pendulum()
    agent = Agent(env)
    buffer = Buffer(env.observation_size, env.action_size)
    memory = DequeMemory(50)
    ep_reward_list = []
    for _ in range(2):
        prev_state = env.reset()
        episodic_reward = 0
        while True:
            tf_prev_state = tf.expand_dims(tf.convert_to_tensor(prev_state), 0)
            action = agent.policy(tf_prev_state)
            state, reward, done, _ = env.step(action)
            buffer.record((prev_state, action, reward, state))
            memory.push(prev_state, action, reward, state, done)
            episodic_reward += reward
            agent.learn(buffer)
            if done:
                break
            prev_state = state
        ep_reward_list.append(episodic_reward)
    states, actions, rewards, next_states, dones = memory.sample(8)
    next_actions = agent.target_actor(next_states)
    errors = td_error(agent.critic_model, states, actions.astype(np.float32), rewards, next_actions, next_states, dones)
    print(np.mean(ep_reward_list), errors.shape)


if __name__ == "__main__":
    main()
