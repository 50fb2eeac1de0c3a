"""After an edit the regions of the last run are taken over where all that they were decided from is the same, and else judged again."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace import regions
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

LIBRARY = """\
import tensorflow as tf


class Model:
    def __init__(self):
        self.w = tf.Variable(tf.ones([8, 8]))

    def __call__(self, x):
        h = x
        for _ in range(4):
            h = tf.tanh(h @ self.w)
        return h


def loss_of(h, y):
    return tf.reduce_mean((h - y) ** 2)


def table(rows):
    found = tf.zeros([2])
    for row in rows:
        found = found + cell(row)
    return found


def cell(row):
    y = tf.reduce_sum(row)
    return tf.stack([y, y])


def shown(row):
    total = tf.reduce_sum(row)
    print(total)
    return total
"""
SCRIPT = """\
import tensorflow as tf

from library import Model, loss_of

model = Model()
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)
for epoch in range(20):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = loss_of(model(x), y)
        grad = tape.gradient(loss, model.w)
        model.w.assign_sub(0.1 * grad)
last = loss
"""
USER = """\
import tensorflow as tf

from library import shown, table


def test_table():
    assert table([tf.ones([3]), tf.zeros([3])]).shape == [2]
    assert shown(tf.ones([3])).shape == []
"""


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of candidates that were judged, by run; in a folder in which the program was analysed once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    Path("library.py").write_text(LIBRARY, encoding="utf-8")
    Path("train.py").write_text(SCRIPT, encoding="utf-8")
    Path("test_library.py").write_text(USER, encoding="utf-8")
    found: list[int] = []
    judge_trials = regions.judge_trials

    def counted(*given: object) -> object:
        found.append(len(given[2]))  # type: ignore[arg-type]
        return judge_trials(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(regions, "judge_trials", counted)
    assert [each.decision.extract for each in analyzed().regions] == [True]
    found.clear()
    return found


def analyzed() -> WorkspaceReport:
    return analyze(["."], Options(Config(jobs=1)))


def edited(name: str, old: str, new: str) -> WorkspaceReport:
    """The report after an edit, which is that of a run from nothing."""
    text = Path(name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    Path(name).write_text(text.replace(old, new), encoding="utf-8")
    return analyzed()


def holds(report: WorkspaceReport, judged: list[int]) -> None:
    count = len(judged)
    fresh = analyze(["."], Options(Config(jobs=1), use_cache=False))
    del judged[count:]
    assert (report.decisions, report.findings, report.regions) == (fresh.decisions, fresh.findings, fresh.regions)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    y = tf.reduce_sum(row)\n", "    total = tf.reduce_sum(row)\n    y = total\n"),
        ("    found = tf.zeros([2])\n", "    size = 2\n    found = tf.zeros([2])\n"),
        # the place of an effect is another one
        ("    total = tf.reduce_sum(row)\n", "    size = 2\n    total = tf.reduce_sum(row)\n"),
    ],
)
def test_an_edit_that_no_step_comes_across_leaves_the_regions(judged: list[int], old: str, new: str) -> None:
    holds(edited("library.py", old, new), judged)
    assert not judged


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        # what the step runs
        ("library.py", "    return tf.reduce_mean((h", "    print(h)\n    return tf.reduce_mean((h"),
        ("library.py", "        h = x\n", "        size = 4\n        h = x\n"),
        # another result, another look from outside, another function
        ("library.py", "tf.stack([y, y])", "tf.stack([y, y, y])"),
        ("library.py", "def cell(row)", "def cell(row, more=1)"),
        ("library.py", "def cell(row)", "def more(row):\n    return row\n\n\ndef cell(row)"),
        # another effect, and one in another place that no operation of before is at
        ("library.py", "    print(total)\n", "    print(total)\n    print(total)\n"),
        ("library.py", "    y = tf.reduce_sum(row)\n", "    print('cell')\n    y = tf.reduce_sum(row)\n"),
        # the file of the step
        ("train.py", "range(20)", "range(30)"),
        ("train.py", "last =", "first ="),
    ],
)
def test_regions_are_judged_again_where_something_that_was_seen_is_another(
    judged: list[int], name: str, old: str, new: str
) -> None:
    holds(edited(name, old, new), judged)
    assert judged == [1]


def test_an_edit_after_one_that_left_the_regions(judged: list[int]) -> None:
    holds(
        edited("library.py", "    y = tf.reduce_sum(row)\n", "    total = tf.reduce_sum(row)\n    y = total\n"), judged
    )
    assert not judged
    holds(edited("library.py", "    return tf.reduce_mean((h", "    print(h)\n    return tf.reduce_mean((h"), judged)
    assert judged == [1]
