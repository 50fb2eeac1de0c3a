"""Projects for the tests of extracted training steps: a step in a loop, and the results of analysis and `fix` for a file."""

from __future__ import annotations

import textwrap
from pathlib import Path

from terra_refactor.config import Config
from terra_refactor.workspace.results import FixReport, WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze, fix

HEAD = """\
import time

import tensorflow as tf

w = tf.Variable(tf.ones([8, 8]))
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)
"""
STEP = """\
with tf.GradientTape() as tape:
    h = x
    for _ in range(4):
        h = tf.tanh(h @ w)
    loss = tf.reduce_mean((h - y) ** 2)
grad = tape.gradient(loss, w)
w.assign_sub(0.1 * grad)
"""


def indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)


def in_loop(before: str = "", behind: str = "", *, inside: str = STEP, after: str = "") -> str:
    body = indented(before + inside + behind, 8)
    return f"{HEAD}\nfor epoch in range(20):\n    for x, y in data:\n{body}{after}"


def options(level: str = "safe", **settings: object) -> Options:
    return Options(config=Config(level=level, jobs=1, **settings), use_cache=False)  # type: ignore[arg-type]


def analyzed(text: str) -> WorkspaceReport:
    Path("m.py").write_text(text, encoding="utf-8")
    return analyze(["m.py"], options())


def fixed(text: str, level: str = "safe", **settings: object) -> FixReport:
    Path("m.py").write_text(text, encoding="utf-8", newline="")
    return fix(["m.py"], options(level, **settings))


def new_text(text: str, level: str = "safe") -> str:
    report = fixed(text, level)
    return report.files[0].new_text if report.files else text
