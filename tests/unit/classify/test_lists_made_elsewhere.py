"""A list that another function made, and that grows between the calls of a loop."""

from __future__ import annotations

from pathlib import Path

from terra_refactor.classify.decision import Action
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

PROGRAM = """
import tensorflow as tf

def step(items):
    total = tf.zeros([3])
    for item in items:
        total = tf.nn.relu(total + item) * tf.tanh(item) + tf.sin(item)
    return total

def made():
    a, b, c, d = tf.ones([3]), tf.ones([3]), tf.ones([3]), tf.ones([3])
    e, f, g, h = a + b, b + c, c + d, d + a
    a, b, c, d = e * f, f * g, g * h, h * e
    return [a, b, c, d, e, f, g, h]

def run():
    items = made()
    for _ in range(100):
        items.append(tf.ones([3]))
        step(items)

run()
"""


def test_where_it_was_made_is_no_place_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    report = analyze([str(tmp_path)], Options(Config(jobs=1, min_ops=0), use_cache=False))
    assert not report.errors
    (step,) = (decision for decision in report.decisions if decision.qualname == "step")
    assert step.action is Action.NONE
    assert "traced for each" in step.reason or "TR204" in step.reason
