"""An unused value is no reason to remove a decorator: that of a clock, or of an attribute that only code about another class reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.decision import Action
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

PROGRAM = """
import time
import tensorflow as tf

@tf.function
def step(x):
    {before}
    for _ in range(30):
        x = tf.nn.relu(x + 1.0)
    {after}
    return x

for _ in range(1000):
    step(tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("before", "after", "action"),
    [
        ("start = time.time()", "pass", Action.NONE),
        ("time.time()", "pass", Action.NONE),
        ("start = time.time()", "print(time.time() - start)", Action.REMOVE_TF_FUNCTION),
        ("start = time.time()", "x = x * start", Action.REMOVE_TF_FUNCTION),
        ("pass", "return x, time.time()", Action.REMOVE_TF_FUNCTION),
        ("start = time.time()", "show = lambda: print(start)", Action.REMOVE_TF_FUNCTION),
    ],
)
def test_removal(before: str, after: str, action: Action, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM.format(before=before, after=after))
    report = analyze([str(tmp_path)], Options(Config(jobs=1), use_cache=False))
    assert {each.action for each in report.decisions if each.qualname == "step"} == {action}


NETWORK = """
import tensorflow as tf

class Network:
    def __init__(self):
        self.w = tf.Variable(tf.ones([3]))

    def compute_loss(self, x):
        self.loss = tf.reduce_sum(x * self.w)
        return self.loss

    {decorator}
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss
    {more}
"""
OLDER = """
class Network:
    def __init__(self):
        self.loss = 0.0

    def report(self):
        print(self.loss)
"""
MAIN = """
import tensorflow as tf
from network import Network
from older import Network as Older

older = Older()
network = Network()
for _ in range(1000):
    network.step(tf.ones([3]))
    older.report()
    {read}
"""


@pytest.mark.parametrize(
    ("more", "read", "action"),
    [
        ("", "", Action.NONE),
        ("def report(self): print(self.loss)", "network.report()", Action.REMOVE_TF_FUNCTION),
    ],
)
def test_a_class_of_the_same_name_reads_its_own_attribute(more: str, read: str, action: Action, tmp_path: Path) -> None:
    (tmp_path / "network.py").write_text(NETWORK.format(decorator="@tf.function", more=more))
    (tmp_path / "older.py").write_text(OLDER)
    (tmp_path / "main.py").write_text(MAIN.format(read=read))
    report = analyze([str(tmp_path)], Options(Config(jobs=1), use_cache=False))
    assert {each.action for each in report.decisions if each.qualname == "Network.step"} == {action}
