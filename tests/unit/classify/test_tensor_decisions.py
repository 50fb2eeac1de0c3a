"""Where Python would look at a tensor in code that AutoGraph leaves as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.rules.rule import Severity

HEAD = "import tensorflow as tf\n\nTABLE = tf.constant([1.0, 2.0, 3.0])\nFLAG = tf.constant(True)\n\n"
CALL = "\n\ntotal(tf.ones([4]))\n"


LOOPS = pytest.mark.parametrize(
    ("loop", "wrong"),
    [
        ("    for row in x:\n        y += row\n", True),
        ("    for row in TABLE:\n        y += row\n", True),  # nothing may be gone through while a graph is traced
        ("    for row in [x, x]:\n        y += tf.reduce_sum(row)\n", False),
        ("    if tf.reduce_sum(x) > 1.0:\n        y += 1.0\n", True),
        ("    if tf.reduce_sum(TABLE) > 1.0:\n        y += 1.0\n", True),  # computed in the graph: symbolic
        ("    if FLAG:\n        y += 1.0\n", False),  # eager: Python may ask it
        ("    while y < 3.0:\n        y += 1.0\n", True),
    ],
)


def program(loop: str) -> str:
    body = "def total(x):\n    y = tf.constant(0.0)\n" + loop + "    return y\n"
    return HEAD + "@tf.function(autograph=False)\n" + body + CALL


@LOOPS
def test_symbolic_tensors_decide_nothing_in_code_that_is_not_converted(loop: str, wrong: bool) -> None:
    found = analyze_text(program(loop)).findings
    assert bool([finding for finding in found if finding.severity is Severity.ERROR]) == wrong


@pytest.mark.slow
@pytest.mark.tensorflow
@LOOPS
def test_tensorflow_says_so(loop: str, wrong: bool) -> None:
    pytest.importorskip("tensorflow")
    try:
        exec(compile(program(loop), "program", "exec"), {})
    except Exception as error:
        assert wrong and "symbolic" in str(error), error
    else:
        assert not wrong
