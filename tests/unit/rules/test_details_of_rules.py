"""Conditions of rules that a mistake would turn round without a sample noticing: each with the nearest program without the finding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from analysis_support import analyze_text
from test_findings_in_programs import rules_of

POSITIVE = "tf.reduce_sum(x) > 0.0"


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("(x, y)", "(x,)", ("TR306",)),
        ("(x, y)", "(y, x)", ()),
        ("[x, y]", "[x]", ("TR306",)),
        ("[x, y]", "[y, y]", ()),
        ("(x, None)", "(y, None)", ("TR306",)),
    ],
)
def test_both_sides_have_the_same_structure(first: str, second: str, rules: tuple[str, ...]) -> None:
    assert rules_of(f"if {POSITIVE}:\n    z = {first}\nelse:\n    z = {second}\nreturn z[0]") == rules


@pytest.mark.parametrize(("second", "rules"), [("(x, y)", ("TR306",)), ("y", ())])
def test_both_functions_of_a_cond_give_the_same_structure(second: str, rules: tuple[str, ...]) -> None:
    assert rules_of(f"return tf.cond({POSITIVE}, lambda: x, lambda: {second})") == rules


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("return max(x)", ("TR303",)),
        ("return max(x, 0.0)", ("TR304",)),
        ("data = tf.data.Dataset.range(3)\nreturn [*data]", ("TR303",)),
        ("data = [x]\nreturn [*data]", ()),
        ("n = int(tf.reduce_sum(x))\nreturn n * tf.ones([3], tf.float64)", ("TR319",)),
        ("n = int(tf.reduce_sum(x))\nreturn n * tf.ones([3], tf.int32)", ()),
        ("return tf.constant('{} {:.1f}'.format(1.0, tf.reduce_sum(x)))", ("TR319", "TR325")),
        ("return tf.constant('{:.1f}{}'.format(1.0, tf.reduce_sum(x)))", ("TR325",)),
    ],
)
def test_what_python_asks_of_a_tensor(body: str, rules: tuple[str, ...]) -> None:
    assert rules_of(body) == rules


OPTIMIZERS = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.build([None, 3])

@tf.function
def step(x, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

first, second = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()
{}
step(tf.ones([4, 3]), first)
step(tf.ones([4, 3]), {})
"""


@pytest.mark.parametrize(
    ("before", "other", "rules"),
    [
        ("", "second", ("TR603",)),
        ("", "first", ()),
        ("first.build(model.trainable_variables)\nsecond.build(model.trainable_variables)", "second", ()),
    ],
)
def test_optimizers_make_their_variables_when_they_are_built_or_first_applied(
    before: str, other: str, rules: tuple[str, ...]
) -> None:
    assert analyze_text(OPTIMIZERS.format(before, other)).rules_of("step") == rules


REBUILT = """
import numpy as np
import tensorflow as tf

class Frame:
    def __init__(self, rows):
        self.rows = rows

    def {method}(self, dtype=None):
        return self.rows

@tf.function
def step(frame):
    return tf.reduce_sum(frame.{read})

step(Frame(np.ones([3])))
"""


@pytest.mark.parametrize(
    ("method", "read", "rules"),
    [("__array__", "rows", ("TR328",)), ("other", "rows", ()), ("__array__", "shape", ())],
)
def test_what_converts_to_an_array_arrives_as_a_tensor(method: str, read: str, rules: tuple[str, ...]) -> None:
    assert analyze_text(REBUILT.format(method=method, read=read)).rules_of("step") == rules
