"""A function that only datasets call already is a graph: nothing is decorated, nor anything that only it calls."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

HEAD = """
import functools
import tensorflow as tf
import tensorflow_datasets as tfds

def helper(x):
    for _ in range(30):
        x = tf.nn.relu(tf.cast(x, tf.float32) + 1.0)
    return x

def prepare(x, by=2.0):
    return helper(x) * by
"""
KNOWN = "tf.data.Dataset.range(100)"
WAYS = {
    "function": "ds.map(prepare)",
    "lambda": "ds.map(lambda x: prepare(x))",
    "partial": "ds.map(functools.partial(prepare, by=3.0))",
    "filter": "ds.filter(lambda x: tf.reduce_all(prepare(x) > 0.0))",
    "flat_map": "ds.flat_map(lambda x: tf.data.Dataset.from_tensors(prepare(x)))",
    "interleave": "ds.interleave(lambda x: tf.data.Dataset.from_tensors(prepare(x)), cycle_length=2)",
    "scan": "ds.scan(0.0, lambda s, x: (s + prepare(x), prepare(x)))",
    "reduce": "ds.reduce(0.0, lambda s, x: s + prepare(x))",
}


def decisions(folder: Path, text: str) -> dict[str, Decision]:
    (folder / "a.py").write_text(HEAD + dedent(text))
    report = analyze([str(folder)], Options(Config(jobs=1, min_ops=0), use_cache=False))
    return {decision.qualname: decision for decision in report.decisions}


def added(folder: Path, text: str) -> set[str]:
    found = decisions(folder, text).values()
    return {each.qualname for each in found if each.action is not Action.NONE}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_of_a_known_data_set(way: str, tmp_path: Path) -> None:
    assert not added(tmp_path, f"ds = {KNOWN}\nfor x in range(1000):\n    y = {way}\n")


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "use",
    [
        "ds = tfds.load('mnist', split='train')\nds = {way}\nds = ds.batch(32)",
        "ds, info = tfds.load('mnist', split='train', with_info=True)\nds = ds.prefetch(1)\ny = {way}",
        "def pipeline(ds):\n    ds = ds.shuffle(100)\n    ds = {way}\n    return ds.prefetch(2)",
    ],
    ids=["loaded", "with info", "parameter"],
)
def test_of_an_unknown_data_set(way: str, use: str, tmp_path: Path) -> None:
    assert not added(tmp_path, use.format(way=way) + "\n")


@pytest.mark.parametrize(
    "use",
    [
        "import pool\nfor y in pool.map(prepare, [1, 2]):\n    print(y)\n",
        "import frames\nframe = frames.read('a.csv')\nframe = frame.map(prepare)\nprint(frame.head())\n",
        "ds = tfds.load('mnist', split='train')\nds = ds.map(prepare).batch(3)\nfor x in tfds.load('a'):\n    helper(x)\n",
    ],
    ids=["pool", "frame", "called elsewhere, too"],
)
def test_what_others_call_is_converted(use: str, tmp_path: Path) -> None:
    assert added(tmp_path, use)


def test_a_decorator_is_not_taken_away_for_it(tmp_path: Path) -> None:
    use = "\n@tf.function\ndef _own(x):\n    return helper(x)\n\ndef each(x):\n    return _own(x)\n"
    use += indent("ds = tfds.load('mnist', split='train').map(each).batch(3)\n", "")
    assert decisions(tmp_path, use)["_own"].action is Action.NONE
