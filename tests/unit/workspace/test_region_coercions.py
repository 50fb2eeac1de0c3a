"""Extracted steps with unknown arguments: data of buffers and loaders, networks and optimizers created in each call."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import new_text


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


AGENT = """\
import numpy as np
import tensorflow as tf
from parts import critic, memory, optimizer, target


class Agent:
    def __init__(self, critic, target, optimizer, memory):
        self.critic = critic
        self.target = target
        self.optimizer = optimizer
        self.memory = memory
        self.batch_size = 64

    def learn(self):
        states, rewards, following = self.memory.sample(self.batch_size)
        rewards = rewards.reshape(-1, 1)
        self.update(states, rewards, following)

    def update(self, states, rewards, following):
        with tf.GradientTape() as tape:
            wanted = REWARDS + 0.9 * self.target(following)
            loss = tf.reduce_mean(tf.square(wanted - self.critic(states)))
        grads = tape.gradient(loss, self.critic.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))


agent = Agent(critic, target, optimizer, memory)
for _ in range(10000):
    agent.learn()
"""


def test_what_a_buffer_gives_has_the_dtype_of_what_it_meets() -> None:
    """Eagerly an array of float64 beside a tensor of float32 becomes one; a graph raises."""
    text = new_text(AGENT.replace("REWARDS", "rewards"), "speculative")
    assert "    @tf.function\n    def train_step(self, rewards, following, states):\n" in text
    assert '        self.train_step(np.asarray(rewards, "float32"), following, states)\n' in text


def test_flags_may_be_negated_first() -> None:
    text = new_text(AGENT.replace("REWARDS + 0.9", "(1 - rewards)"), "speculative")
    assert 'np.asarray(rewards, "float32")' in text


def test_items_of_what_may_be_a_list_are_not_converted() -> None:
    text = AGENT.replace("REWARDS", "rewards[0]")
    assert new_text(text, "speculative") == text


def test_a_module_that_speaks_of_float64_may_have_networks_of_that() -> None:
    text = AGENT.replace("REWARDS", "rewards").replace(
        "\n\nclass", '\n\ntf.keras.backend.set_floatx("float64")\n\n\nclass', 1
    )
    assert new_text(text, "speculative") == text


def test_a_batch_that_a_buffer_gives_is_not_kept_by_a_graph() -> None:
    """`learn` has nothing that varies but what `sample` gives, which a trace would keep."""
    text = new_text(AGENT.replace("REWARDS", "rewards"), "speculative")
    assert "    def learn(self):\n        states, rewards, following = self.memory.sample(self.batch_size)\n" in text
    assert "@tf.function\n    def learn" not in text


def test_a_buffer_that_is_an_argument_is_asked_in_each_call() -> None:
    text = AGENT.replace("REWARDS", "rewards").replace("def learn(self)", "def learn(self, memory)")
    text = text.replace("self.memory.sample(", "memory.sample(").replace("agent.learn()", "agent.learn(load())")
    new = new_text(text, "speculative")
    assert "@tf.function\n    def learn" not in new
    assert '        self.train_step(np.asarray(rewards, "float32"), following, states)\n' in new


DISTRIBUTION = """\
import tensorflow as tf


class Agent:
    def __init__(self, critic, optimizer):
        self.critic = critic
        self.optimizer = optimizer

    def learn(self, prior, states):
        noise = prior.sample(64)
        with tf.GradientTape() as tape:
            value = self.critic(tf.tanh(tf.tanh(states)))
            loss = tf.reduce_mean(tf.square(value)) USED
        grads = tape.gradient(loss, self.critic.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))
        return loss, noise
"""


def test_an_argument_that_gets_tensors_is_no_buffer() -> None:
    new = new_text(DISTRIBUTION.replace("USED", "- tf.reduce_mean(prior.log_prob(value))"), "speculative")
    assert "    @tf.function\n    def learn(self, prior, states):\n" in new
    new = new_text(DISTRIBUTION.replace("USED", ""), "speculative")
    assert "    def learn(self, prior, states):\n        noise = prior.sample(64)\n" in new
    assert "@tf.function\n    def learn" not in new


GRADIENTS = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self, critic, target, optimizer, memory):
        self.critic = critic
        self.target = target
        self.optimizer = optimizer
        self.memory = memory

    def gradients(self, critic, states, rewards, following):
        with tf.GradientTape() as tape:
            wanted = rewards + 0.9 * self.target(following)
            loss = tf.reduce_mean(tf.square(wanted - critic(states)))
        return tape.gradient(loss, critic.trainable_variables)

    def train(self):
        for _ in range(10000):
            states, rewards, following = self.memory.sample(64)
            grads = self.gradients(self.critic, states, rewards, following)
            self.optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))
"""


def test_gradients_that_another_function_applies() -> None:
    """No tape around it needs the gradients of an argument that becomes an array."""
    text = GRADIENTS.replace("return tape", "grads = tape").replace(
        "trainable_variables)\n\n", "trainable_variables)\n        return grads\n\n"
    )
    new = new_text(text, "speculative")
    assert "    @tf.function\n    def gradient_step(" in new
    assert 'np.asarray(rewards, "float32")' in new and "return self.gradient_step" not in new


@pytest.mark.parametrize(
    "around",
    [
        "with tf.GradientTape() as outer:\n                grads = self.gradients(",
        "with tf.GradientTape() as outer:\n                grads = self.inner(",
    ],
)
def test_gradients_that_a_tape_around_may_need(around: str) -> None:
    text = GRADIENTS.replace("return tape", "grads = tape").replace(
        "trainable_variables)\n\n", "trainable_variables)\n        return grads\n\n"
    )
    text = text.replace(
        "    def train(", "    def inner(self, *batch):\n        return self.gradients(*batch)\n\n    def train("
    )
    text = text.replace("grads = self.gradients(", around)
    unchanged = text.partition("    def gradients(")[2].partition("    def inner(")[0]
    assert unchanged in new_text(text, "speculative")


HELPER = """\
import numpy as np
import tensorflow as tf


def penalty(critic, real, fake):
    size = real.shape[0]
    mixed = tf.random.uniform([size, 1]) * real + fake
    with tf.GradientTape() as tape:
        tape.watch(mixed)
        score = critic(mixed)
    return tf.reduce_mean(tape.gradient(score, mixed) ** 2)


def train(data):
    critic = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    rows = data.reshape(-1, 4)
    for step in range(STEPS):
        index = np.random.randint(0, rows.shape[0], 16)
        real = rows[index]
        noise = tf.random.normal([16, 4])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(critic(noise)) - tf.reduce_mean(critic(real)) + penalty(critic, real, noise)
        grads = tape.gradient(loss, critic.trainable_variables)
        optimizer.apply_gradients(zip(grads, critic.trainable_variables))
        print(step)


for _ in range(3):
    train(load())
"""


def test_a_function_of_the_module_may_meet_the_tensor() -> None:
    text = new_text(HELPER.replace("STEPS", "1000"), "speculative")
    assert 'train_step(np.asarray(real, "float32")' in text


def test_an_optimizer_of_each_call_needs_a_function_of_each_call() -> None:
    """The second optimizer would make its variables in the second trace of one function, which raises."""
    text = new_text(HELPER.replace("STEPS", "1000"), "speculative")
    assert "    @tf.function\n    def train_step(real" in text
    few = HELPER.replace("STEPS", "2")
    assert new_text(few, "speculative") == few


METHOD = """\
import tensorflow as tf


class Trainer:
    def __init__(self, net, data):
        self.net = net
        self.data = data

    def fit(self, epochs):
        optimizer = tf.keras.optimizers.Adam()
        for epoch in range(epochs):
            for x, y in self.data:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((self.net(x) - y) ** 2)
                grads = tape.gradient(loss, self.net.trainable_variables)
                optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
                print(float(loss))


net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 1]))).batch(8)
"""


def test_in_a_method_that_makes_its_optimizer_the_step_is_nested() -> None:
    text = new_text(METHOD + "trainer = Trainer(net, data)\ntrainer.fit(20)\ntrainer.fit(20)\n", "speculative")
    assert "        @tf.function\n        def train_step(x, y):\n" in text
    assert "                loss = train_step(x, y)\n" in text


LABELS = """\
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.Adam()
images = np.ones((640, 4), "float32")
labels = np.zeros(640, "int64")
for epoch in range(100):
    for at in range(0, 640, 64):
        x, y = images[at : at + 64], labels[at : at + 64]
        with tf.GradientTape() as tape:
            scores = net(x)
            loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(y, scores, from_logits=True))
            right = tf.reduce_mean(tf.cast(tf.argmax(scores, axis=-1, output_type=tf.int32) == y, tf.float32))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        print(float(loss), float(right))
"""


def test_labels_are_compared_as_the_scores_are() -> None:
    text = new_text(LABELS, "speculative")
    assert 'train_step(x, np.asarray(y, "int32"))' in text
    same = new_text(LABELS.replace("tf.int32", "tf.int64"), "speculative")
    assert "train_step(x, y)" in same


ARITHMETIC = (
    LABELS.replace(
        "            right = tf.reduce_mean(tf.cast(tf.argmax(scores, axis=-1, output_type=tf.int32) == y, tf.float32))\n",
        "            loss = loss + tf.reduce_mean(scores[:, 0] / (w + 1e-5))\n",
    )
    .replace("        x, y =", "        w = np.random.rand(64)\n        x, y =")
    .replace("float(right)", "at")
)


def test_arithmetic_of_arrays_comes_before_the_step() -> None:
    """NumPy computes it in float64, and the tensor makes float32 of the result: so does the call."""
    text = new_text(ARITHMETIC, "speculative")
    assert "            loss = loss + tf.reduce_mean(scores[:, 0] / " in text
    assert "w + 1e-5" not in text.partition("for epoch")[0]


def test_a_list_that_is_reversed_is_no_tensor() -> None:
    text = """\
import tensorflow as tf

w = tf.Variable(tf.ones([4, 4]))


def replay(states, rewards):
    rewards.reverse()
    total = tf.zeros([4, 4])
    for state, reward in zip(states, rewards):
        total = total * 0.9 + tf.tanh(tf.matmul(w, w)) * reward + tf.exp(total) * state
    return total


def again(states, rewards):
    return replay(states, rewards)
"""
    assert new_text(text, "speculative") == text


ROWS = """\
import random
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(2)])
        self.size = 32

    def train(self, rows):
        optimizer = tf.keras.optimizers.SGD(0.1)
        while True:
            batch = random.sample(rows, self.size)
            states = [row[0] for row in batch]
            actions = [row[1] for row in batch]
            with tf.GradientTape() as tape:
                scores = self.net(np.stack(states))
                chosen = tf.one_hot(tf.reshape(np.reshape(np.stack(actions), [SIZES]), [-1]), 2)
                loss = -tf.reduce_sum(scores * chosen)
            grads = tape.gradient(loss, self.net.trainable_variables)
            optimizer.apply_gradients(zip(grads, self.net.trainable_variables))


if __name__ == "__main__":
    Agent().train(np.load("rows.npy", allow_pickle=True).tolist())
"""


def test_lists_of_rows_are_stacked_before_the_step() -> None:
    """As arguments, the arrays in the list would be tensors, which `np.stack` refuses, and the numbers a trace for each list."""
    text = new_text(ROWS.replace("SIZES", "self.size, 1"), "speculative")
    assert "scores = self.net(states_value)\n" in text
    assert "train_step(np.stack(states), np.reshape(np.stack(actions), [self.size, 1]))\n" in text


@pytest.mark.parametrize("sizes", ["len(scores), 1", "scores.shape[0], 1"])
def test_lists_that_are_shaped_by_what_the_step_makes_stay(sizes: str) -> None:
    text = ROWS.replace("SIZES", sizes)
    assert new_text(text, "speculative") == text
