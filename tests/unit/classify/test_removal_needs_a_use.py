"""A clock whose value is unused is frozen without effect, which is no reason to remove a decorator."""

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
