"""Training steps in functions that each call of another function defines, and structures that differ between calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import STEP, analyzed, indented, new_text

from terra_refactor.classify.decision import Level


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _trainer(before: str = "scale = tf.reduce_max(tf.abs(x)) + 1.0\n", behind: str = "") -> str:
    step = STEP.replace(" w", " self.w").replace("w.assign", "self.w.assign").replace("h = x\n", "h = x / scale\n")
    return (
        "import tensorflow as tf\n\n\nclass Trainer:\n    def __init__(self):\n"
        "        self.w = tf.Variable(tf.ones([8, 8]))\n        self.losses = []\n\n    def update(self, x, y):\n"
        + indented(before, 8)
        + "\n        def step(x, y):\n"
        + indented(step, 12)
        + "            return loss\n\n"
        + indented(behind, 8)
        + "        loss = step(x, y)\n        self.losses.append(float(loss))\n        return loss\n\n\n"
        "trainer = Trainer()\nfor _ in range(100):\n"
        "    for x, y in tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8):\n"
        "        trainer.update(x, y)\n"
    )


def test_a_step_that_each_call_of_a_method_defines_becomes_a_method() -> None:
    text = new_text(_trainer())
    assert (
        "\n\n    @tf.function\n    def train_step(self, x, scale, y):\n        with tf.GradientTape() as tape:\n"
        in text
    )
    assert "\n        return loss\n\n    def update(self, x, y):\n        scale" in text
    assert "        def step(x, y):\n            loss = self.train_step(x, scale, y)\n            return loss\n" in text


def test_without_an_object_it_becomes_a_function_of_the_module() -> None:
    text = (
        "import tensorflow as tf\n\nw = tf.Variable(tf.ones([8, 8]))\n\n\ndef update(x, y):\n    scale = tf.reduce_max(x) + 1.0\n\n"
        "    def step():\n"
        + indented(STEP.replace("h = x\n", "h = x / scale\n"), 8)
        + "        return loss\n\n    loss = step()\n    print(float(loss))\n\n\n"
        "for x in tf.data.Dataset.from_tensor_slices(tf.ones([64, 8])).batch(8).repeat(100):\n    update(x, x)\n"
    )
    found = new_text(text)
    assert "\n\n@tf.function\ndef train_step(x, scale, y):\n" in found
    assert "    def step():\n        loss = train_step(x, scale, y)\n        return loss\n" in found


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("", "scale = tf.reduce_max(tf.abs(x)) + 1.0\n"),  # the call of `step` looks it up later than its `def`
        ("scale = 1.0\n\ndef grow():\n    nonlocal scale\n    scale += 1.0\n\n", "grow()\n"),
        ("if len(self.losses) > 3:\n    scale = tf.constant(1.0)\n", ""),
    ],
)
def test_a_variable_that_may_be_bound_at_another_time_is_no_argument(before: str, behind: str) -> None:
    assert "def train_step" not in new_text(_trainer(before, behind), "speculative")


def test_private_names_of_a_class_stay_in_it() -> None:
    text = _trainer().replace("self.w", "self.__w")
    assert "def train_step" not in new_text(text, "speculative")


@pytest.mark.parametrize(
    ("before", "used"),
    [
        ("scale = lambda value: value + 1.0\n", "scale(x)"),
        ("scale = tf.keras.layers.Dense(8)\n", "scale(x)"),
        ("scale = [tf.keras.layers.Dense(8)]\n", "scale[0](x)"),
    ],
)
def test_an_object_that_is_made_for_each_call_is_no_argument(before: str, used: str) -> None:
    text = _trainer(before).replace("h = x / scale", f"h = {used}")
    assert "def train_step" not in new_text(text, "speculative")


REPLICAS = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
w = tf.Variable(tf.ones([8, 8]))
data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(tf.ones([64, 8])).batch(8))


def train_step(x):
    def step(x):
        with tf.GradientTape() as tape:
            h = x
            for _ in range(6):
                h = tf.tanh(h @ w)
            loss = tf.reduce_mean(h ** 2)
        grad = tape.gradient(loss, w)
        w.assign_sub(0.1 * grad)
        return loss

    return strategy.RUN(step, args=(x,))


for epoch in range(100):
    for x in data:
        loss = train_step(x)
"""


@pytest.mark.parametrize("method", ["run", "experimental_run_v2"])
def test_the_graph_is_around_the_call_for_each_replica(method: str) -> None:
    text = new_text(REPLICAS.replace("RUN", method), "speculative")
    # how many rows a replica gets is not known
    decorated = "@tf.function(reduce_retracing=True)\ndef train_step(x):\n    def step(x):\n        with tf.GradientTape() as tape:\n"
    assert decorated in text


REPLAY = """\
import random
from collections import namedtuple

import tensorflow as tf

Transition = namedtuple("Transition", ("state", "after"))


class Trainer:
    def __init__(self, memory):
        self.w = tf.Variable(tf.ones([4, 4]))
        self.memory = memory
        self.losses = []

    def update(self, size):
        batch = Transition(*zip(*random.sample(self.memory, size)))
        with tf.GradientTape() as tape:
            after = tf.stack([tf.zeros([4]) if s is None else s for s in batch.after])
            h = tf.stack(batch.state)
            for _ in range(6):
                h = tf.tanh(h @ self.w)
            loss = tf.reduce_mean((h - tf.tanh(after @ self.w)) ** 2)
        grad = tape.gradient(loss, self.w)
        self.w.assign_sub(0.1 * grad)
        self.losses.append(float(loss))
"""
FILLED = """

memory = []
for i in range(64):
    memory.append((tf.random.normal([4]), None if i % 3 else tf.random.normal([4])))
trainer = Trainer(memory)
for _ in range(1000):
    trainer.update(8)
"""


def test_none_in_the_place_of_tensors_would_be_a_trace_for_each_pattern() -> None:
    report = analyzed(REPLAY + FILLED)
    (region,) = report.regions
    assert not region.decision.extract
    assert "`batch` holds None in several places where other calls have tensors" in region.decision.reason
    # the same program where each has its tensor
    report = analyzed(REPLAY + FILLED.replace("None if i % 3 else ", ""))
    assert [region.decision.extract for region in report.regions] == [True]


def test_a_structure_of_which_nothing_is_known_is_an_assumption() -> None:
    text = (
        REPLAY
        + "\n\nimport buffers\n\ntrainer = Trainer(buffers.load())\nfor _ in range(1000):\n    trainer.update(8)\n"
    )
    (region,) = analyzed(text).regions
    assert region.decision.extract
    assert region.decision.level is Level.SPECULATIVE
    assert "`batch` has the same structure in most calls: each new one is traced" in region.decision.assumptions


TWO_TAPES_OF_ONE_LOOP = """\
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


class Agents:
    def __init__(self, count):
        self.count = count
        self.nets = [tf.keras.Sequential([tf.keras.layers.Dense(8)]) for _ in range(count)]
        self.optimizers = [tf.keras.optimizers.Adam() for _ in range(count)]

    def target(self, i, x):
        return tf.tanh(x[:, :1])

    def update(self, given):
        x = tf.cast(given, tf.float32)

        total, other = 0.0, 0.0
        for i in range(self.count):
            wanted = self.target(i, x) * 2.0
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.nets[i](x) - wanted) ** 2)
            grads = tape.gradient(loss, self.nets[i].trainable_variables)
            self.optimizers[i].apply_gradients(zip(grads, self.nets[i].trainable_variables))
            total += loss
            with tf.GradientTape() as tape:
                kept = tf.Variable(x)
                kept[:, 0].assign(x[:, 1])
                loss = tf.reduce_mean(self.nets[i](kept))
            grads = tape.gradient(loss, self.nets[i].trainable_variables)
            self.optimizers[i].apply_gradients(zip(grads, self.nets[i].trainable_variables))
            other += loss
        return total, other


agents = Agents(3)
for step in range(1000):
    batch = tf.random.normal([8, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(net(batch))))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    print(step, agents.update(batch))
"""


def test_two_tapes_of_one_loop_do_not_get_a_function_each_for_all_of_it() -> None:
    """The second is tried when nothing came of the first; other steps of the program do not depend on either."""
    new = new_text(TWO_TAPES_OF_ONE_LOOP, "speculative")
    assert "@tf.function\ndef train_step():\n    batch = tf.random.normal([8, 4])\n" in new
    assert new.partition("agents = ")[0] == TWO_TAPES_OF_ONE_LOOP.partition("agents = ")[0]
