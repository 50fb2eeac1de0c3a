"""TensorFlow's treatment of lists that a program fills with results of an environment, and the decision about the step that gets one.

The environment comes out of a queue, so that its class is unknown. TensorFlow says how often the step is traced, or that it raises; what
is traced for most calls must not be decorated, what raises must not be safe, and lists of tensors of one length must not be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

CALLS = 12
PROGRAM = """\
import queue

import numpy as np
import tensorflow as tf


class Environment:
    def __init__(self):
        self.random, self.steps = np.random.default_rng(3), 0

    def step(self):
        self.steps += 1
        return self.random.normal(size=4).astype(np.float32), REWARD, self.steps % 9 == 0


w = tf.Variable(tf.ones([4]))


def update(states, rewards):
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.stack(states) * w)
        for reward in rewards:
            for _ in range(8):
                total = USED
    w.assign_sub(1e-3 * tape.gradient(total, w))


environments = queue.SimpleQueue()
environments.put(Environment())
env = environments.get()


def run(n):
LOOP


run(N)
"""
EACH_NEW = """
    for _ in range(n):
        states, rewards = [], []
        for _ in range(5):
            state, reward, done = env.step()
            states.append(STATE)
            CONDITION
        update(states, rewards)
"""
CARRIED = """
    states, rewards = [], []
    for _ in range(7 * n):
        state, reward, done = env.step()
        states.append(STATE)
        rewards.append(GIVEN)
        if DECIDED:
            update(states, rewards)
            states, rewards = [], []
"""
TENSOR = "tf.convert_to_tensor(reward, tf.float32)"
PLAIN = "rewards.append(GIVEN)"


@dataclass(frozen=True)
class Lists:
    """A program, and what TensorFlow does with its step as a graph."""

    loop: str
    reward: str = "float(self.random.normal())"
    given: str = TENSOR
    used: str = "tf.tanh(total) * reward"
    raises: bool = False
    once: bool = False

    @property
    def text(self) -> str:
        parts = {"LOOP": self.loop.strip("\n"), "GIVEN": self.given, "REWARD": self.reward, "USED": self.used}
        text = PROGRAM
        for name, part in parts.items():
            text = text.replace(name, part)
        return text.replace("STATE", "tf.convert_to_tensor(state, tf.float32)")


KINDS = {
    "tensors of one length": Lists(EACH_NEW.replace("CONDITION", PLAIN), once=True),
    "numbers": Lists(EACH_NEW.replace("CONDITION", PLAIN), given="reward"),
    "numbers that an operation converts": Lists(
        EACH_NEW.replace("CONDITION", PLAIN), given="reward", used="tf.tanh(total) + tf.constant(reward)"
    ),
    "arrays of float64": Lists(
        EACH_NEW.replace("CONDITION", PLAIN), "self.random.normal(size=2)[0]", "reward", raises=True
    ),
    "a loop that unknown code ends": Lists(
        EACH_NEW.replace("range(5)", "range(50)").replace(
            "CONDITION", PLAIN + "\n            if done:\n                break"
        )
    ),
    "a condition of unknown code": Lists(EACH_NEW.replace("CONDITION", "if reward > 0:\n                " + PLAIN)),
    "filled until a length": Lists(CARRIED.replace("DECIDED", "len(states) == 7"), once=True),
    "filled until a length, or an end": Lists(CARRIED.replace("DECIDED", "len(states) == 7 or done")),
}


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", KINDS)
def test_tensorflow_does_so(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow")
    lists, traces = KINDS[kind], list[int]()
    text = lists.text.replace("def update", "@tf.function\ndef update").replace(
        "    with tf.GradientTape", "    TRACES.append(1)\n    with tf.GradientTape"
    )
    # episodes of random lengths
    text = text.replace("self.steps % 9 == 0", "self.random.random() < 0.3").replace("run(N)", f"run({CALLS})")
    file = tmp_path / "program.py"
    file.write_text(text)
    code = compile(text, str(file), "exec")
    if lists.raises:
        with pytest.raises(TypeError):
            exec(code, {"TRACES": traces, "__name__": "program"})
    else:
        exec(code, {"TRACES": traces, "__name__": "program"})
        assert len(traces) == 1 if lists.once else len(traces) >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_decided_so(kind: str, tmp_path: Path) -> None:
    lists = KINDS[kind]
    file = tmp_path / "program.py"
    file.write_text(lists.text.replace("run(N)", "run(1000)"))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    (update,) = (decision for decision in report.decisions if decision.qualname == "update")
    if lists.once:
        assert update.action is Action.ADD_TF_FUNCTION
    elif kind == "numbers that an operation converts":
        assert update.classification is Classification.SPECULATIVE
        assert "the values of `rewards` are tensors, or Python values that do not vary" in update.assumptions
    else:
        assert update.action is not Action.ADD_TF_FUNCTION
