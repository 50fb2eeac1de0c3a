"""A small project with an entry for every part of a report, and its results."""

from __future__ import annotations

import json
from pathlib import Path

from terra_refactor.config import Config
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

TRAIN = """\
import tensorflow as tf
from pkg.log import show


@tf.function
def step(x, w):
    show("ä😀", x)
    return tf.reduce_sum(tf.matmul(x, w))


def pays(x, w):
    for _ in range(30):
        x = tf.tanh(tf.matmul(x, w) + 1.0)
    return tf.reduce_sum(x)


for size in range(300):
    step(tf.zeros([2, 4]), tf.zeros([4, 4]))
    pays(tf.zeros([2, 4]), tf.zeros([4, 4]))
"""
LOG = '''\
def show(*things):
    """</script><b>bold</b> & [a](b)"""
    print(*things)
'''
CELLS = (
    ("markdown", "# Title"),
    ("code", "%matplotlib inline\nimport tensorflow as tf\n"),
    ("code", '@tf.function\ndef f(x):\n    print("ä😀", x)\n    return x * 2\n\nf(tf.zeros([2]))'),
)


def write_notebook(path: Path, *, lines: bool = True) -> None:
    """Writes a notebook of `CELLS`; each source as a list of lines, as editors do, or as one text."""
    cells = [
        {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True) if lines else text}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for kind, text in CELLS
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))


def write_project(folder: Path) -> None:
    """The project's files."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "pkg" / "log.py").write_text(LOG)
    (folder / "broken.py").write_text("x = 1\ndef f(:\n")
    write_notebook(folder / "a b.ipynb")


def analyzed(config: Config | None = None) -> WorkspaceReport:
    """The results of the project in the current folder."""
    return analyze(["."], Options(config=config or Config(jobs=1), use_cache=False))
