"""Conditions of decisions that a mistake would turn round without another test noticing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decision import Action, Classification

REPLICAS = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
total = tf.Variable(0.0)

def counted(x):
    for _ in range(20):
        x = tf.nn.relu(x + 1.0)
    total.assign_add(tf.reduce_sum(x))
    return x

def smoothed(x):
    for _ in range(20):
        x = tf.nn.relu(x * 0.5 + tf.roll(x, 1, axis=0))
    return x

def step(x):
    return smoothed(counted(x))

for _ in range(1000):
    strategy.run(step, args=(tf.ones([3]),))
"""


def test_below_a_step_of_replicas_only_what_updates_variables_stays_eager() -> None:
    result = analyze_text(REPLICAS)
    actions = {name: result.decision(name).action for name in ("counted", "smoothed", "step")}
    assert actions == {"counted": Action.NONE, "smoothed": Action.ADD_TF_FUNCTION, "step": Action.NONE}


@pytest.mark.parametrize(("steps", "counted"), [(6, "about 151 "), (60, "about 1231 ")])
def test_a_recurrent_layer_counts_its_time_steps(steps: int, counted: str) -> None:
    text = (
        "import tensorflow as tf\n\nlayer = tf.keras.layers.LSTM(4)\n\ndef run(x):\n    return layer(x)\n\n"
        f"for _ in range(1000):\n    run(tf.ones([2, {steps}, 3]))\n"
    )
    assert analyze_text(text).decision("run").reason.startswith(counted)


LAZY = """
import tensorflow as tf

class Model:
    def __init__(self):
        self.scale = None

    def call(self, x, fresh):
        if {test}:
            self.scale = tf.Variable(tf.ones([3]))
        for _ in range(20):
            x = tf.nn.relu(x * 0.5 + self.scale)
        return x

model = Model()
for _ in range(1000):
    model.call(tf.ones([3]), True)
"""


@pytest.mark.parametrize(
    ("test", "classification"),
    [
        ("self.scale is None", Classification.SAFE),
        ("self.scale is None and fresh", Classification.SAFE),
        ("fresh and self.scale is None", Classification.SAFE),
        ("fresh", Classification.UNSAFE),
        ("self.scale is not None or fresh", Classification.UNSAFE),
    ],
)
def test_a_condition_makes_variables_once_if_one_part_of_it_does(test: str, classification: Classification) -> None:
    assert analyze_text(LAZY.format(test=test)).decision("Model.call").classification is classification
