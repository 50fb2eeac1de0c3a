"""Extracted training steps at the end of a file, of arrays whose dtype is unknown, and in functions that the shim could run."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import analyzed, new_text

from terra_refactor.classify.decision import Action


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


AGENT = """\
import numpy as np
import some
import tensorflow as tf


class Agent:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.memory = np.zeros((100, 4), np.float32)
        self.returns = []

    def learn(self):
        batch = self.memory[np.random.choice(100, 32)]
        returns = np.array(self.returns)
        with tf.GradientTape() as tape:
            value = self.net(batch)[:, 0]
            loss = tf.reduce_mean(value * returns)
        print("the loss", loss)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
"""
CALLS = """\

agent = Agent()
for _ in range(1000):
    agent.returns.append(some.reward())
    agent.learn()
"""


def test_a_file_without_a_newline_at_its_end() -> None:
    # what moves behind the call of the step starts a line of its own
    head = (
        "import importlib\n"
        + AGENT.replace(
            "class Agent",
            "def train():\n    agent = Agent()\n"
            "    for _ in range(1000):\n        agent.returns.append(some.reward())\n        agent.learn()\n\n\nclass Agent",
        )
        + "\n\n"
    )
    text = new_text(head.rstrip("\n"), "speculative")
    assert "@tf.function" in text
    assert text.endswith('\n        print("the loss", loss)')
    assert compile(text, "m.py", "exec")


def test_an_array_of_unknown_dtype_is_converted_as_the_operation_does() -> None:
    text = new_text(AGENT + CALLS, "speculative")
    assert 'loss = self.train_step(batch, returns.astype("float32"))\n' in text


def test_a_step_that_becomes_a_graph_needs_no_shim() -> None:
    found = {each.qualname: each.action for each in analyzed(AGENT + CALLS).decisions}
    assert found["Agent.learn"] is Action.NONE
    kept = AGENT.replace("value * returns", "value * value.numpy().std()")
    found = {each.qualname: each.action for each in analyzed(kept + CALLS).decisions}
    assert found["Agent.learn"] is Action.CO_EXECUTE
