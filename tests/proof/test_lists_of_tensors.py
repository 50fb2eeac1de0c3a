"""Lists of tensors that a function fills and gives to NumPy: TensorFlow raises while it traces, so none of them is safe."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

pytestmark = pytest.mark.tensorflow

PROGRAM = """\
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.ones([4, 4]))
xs = [tf.ones([1, 4]), 2.0 * tf.ones([1, 4])]


def step(xs):
{body}
    h = xs[0]
    for _ in range(8):
        h = tf.tanh(h @ w) + 0.1 * tf.reduce_sum(h)
    return tf.reduce_sum(h) * scale


for _ in range(1000):
    step(xs)
"""
RAISES = {
    "appended in a loop": "found = []\nfor x in xs:\n    found.append(tf.reduce_sum(x @ w))\nscale = np.array(found)[0]",
    "appended under a condition": "found = []\nif len(xs) > 1:\n    found.append(tf.reduce_sum(xs[1]))\nscale = np.mean(found)",
    "inserted": "found = [1.0]\nfound.insert(0, tf.reduce_sum(xs[1]))\nscale = np.sum(np.asarray(found))",
    "of a comprehension": "scale = np.array([tf.reduce_sum(x @ w) for x in xs]).max()",
    "extended by a comprehension": "found = []\nfound.extend([tf.norm(x) for x in xs])\nscale = np.stack(found)[0]",
    "carried": "found, total = [], 0.0\nfor x in reversed(xs):\n    total = 1.0 + 0.9 * total\n"
    "    found.append(total - tf.norm(x))\nscale = np.array(found)[-1]",
}
FINE = {
    "numbers": "found = []\nfor k in range(3):\n    found.append(0.1 * k)\nscale = np.array(found, np.float32)[1]",
    "sizes": "found = []\nfor x in xs:\n    found.append(x.shape[1])\nscale = float(np.prod(found))",
    "another list": "kept, found = [], [1.0]\nfor x in xs:\n    kept.append(tf.norm(x))\nfound.append(2.0)\n"
    "scale = tf.add_n(kept) * float(np.sum(found))",
    "numbers of a comprehension": "scale = np.array([float(k) for k in range(3)], np.float32)[2]",
    "stacked by TensorFlow": "found = []\nfor x in xs:\n    found.append(tf.norm(x))\nscale = tf.reduce_max(tf.stack(found))",
}


def text_of(body: str) -> str:
    return PROGRAM.format(body="\n".join(f"    {line}" for line in body.splitlines()))


def decided(text: str) -> tuple[Classification, Action, set[str]]:
    Path("m.py").write_text(text, encoding="utf-8")
    report = analyze(["m.py"], Options(Config(jobs=1), use_cache=False))
    (decision,) = (each for each in report.decisions if each.qualname == "step")
    return decision.classification, decision.action, {hazard.rule for hazard in decision.hazards}


def traced(text: str) -> str:
    """`same`, or the class of the error that a graph of the function raises."""
    import tensorflow as tf  # noqa: PLC0415

    linecache.clearcache()
    Path("p.py").write_text(text.partition("\n\nfor _ in range(1000)")[0], encoding="utf-8")
    names: dict[str, object] = {"__name__": "p"}
    exec(compile(Path("p.py").read_text(encoding="utf-8"), str(Path("p.py").resolve()), "exec"), names)
    eager = names["step"](names["xs"])  # type: ignore[operator]
    try:
        graph = tf.function(names["step"])(names["xs"])
    except Exception as error:
        return type(error).__name__
    return "same" if abs(float(eager) - float(graph)) < 1e-4 else "different"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", RAISES)
def test_a_graph_raises_and_the_function_is_unsafe(name: str) -> None:
    text = text_of(RAISES[name])
    assert traced(text) not in ("same", "different")
    classification, action, rules = decided(text)
    assert classification is Classification.UNSAFE
    assert action is not Action.ADD_TF_FUNCTION
    assert "TR302" in rules


@pytest.mark.parametrize("name", FINE)
def test_other_lists_are_no_reason(name: str) -> None:
    text = text_of(FINE[name])
    assert traced(text) == "same"
    assert decided(text)[0] is not Classification.UNSAFE
