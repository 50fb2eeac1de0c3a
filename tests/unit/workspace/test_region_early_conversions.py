"""Extracted steps of host values that the tape converts to tensors: their call converts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import new_text

AGENT = """\
import random
from collections import deque

import gym
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(64), tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.memory = deque(maxlen=2000)

    def update(self):
        batch = random.sample(self.memory, 32)
        states = [each[0] for each in batch]
        rewards = [each[1] for each in batch]
        with tf.GradientTape() as tape:
            rewards = tf.convert_to_tensor(rewards, dtype=tf.float32)
            values = self.net(tf.convert_to_tensor(np.vstack(states), dtype=tf.float32))
            loss = tf.reduce_mean((tf.reduce_max(values, axis=1) - rewards) ** 2)
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

    def run(self):
        env = gym.make("CartPole-v1")
        while True:
            self.memory.append(env.step(0)[:2])
            self.update()


if __name__ == "__main__":
    Agent().run()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_call_converts_lists_and_joined_arrays() -> None:
    text = new_text(AGENT, "safe")
    assert "    @tf.function\n    def train_step(self, rewards_value, states_value):\n" in text
    assert "            rewards = rewards_value\n            values = self.net(states_value)\n" in text
    assert "tf.convert_to_tensor(rewards, dtype=tf.float32)" in text.partition("self.train_step(")[2]
    assert "tf.convert_to_tensor(np.vstack(states), dtype=tf.float32)" in text.partition("self.train_step(")[2]


def test_one_argument_for_equal_conversions() -> None:
    twice = "tf.reduce_max(self.net(tf.convert_to_tensor(np.vstack(states), dtype=tf.float32)), axis=1)"
    text = new_text(AGENT.replace("tf.reduce_max(values, axis=1)", twice), "safe")
    assert "def train_step(self, rewards_value, states_value):\n" in text
    assert text.count("np.vstack(states)") == 1


def test_a_list_that_is_used_otherwise_stays() -> None:
    text = new_text(AGENT.replace("loss = tf", "loss = len(states) * tf"), "safe")
    assert "train_step" not in text


def test_a_name_that_the_tape_has_bound_before_is_not_the_argument() -> None:
    later = AGENT.replace(
        "            rewards = tf", "            states = [each * 2 for each in states]\n            rewards = tf"
    )
    text = new_text(later, "speculative")
    assert "np.vstack(states)" not in text.partition("self.train_step(")[2]


def test_a_variable_gets_its_gradient() -> None:
    """The tape records the conversion of the variable, which is named where its gradient is applied, too."""
    text = new_text(STYLE, "speculative")
    assert "tf.cast(image, tf.float32)" not in text.partition("    train_step(")[2]


STYLE = """\
import tensorflow as tf
from images import load

net = tf.keras.applications.VGG19()
optimizer = tf.keras.optimizers.Adam()


def optimise(image, steps):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(tf.cast(image, tf.float32)) ** 2)
        gradient = tape.gradient(loss, image)
        optimizer.apply_gradients([(gradient, image)])


optimise(load("picture.png"), 1000)
"""
