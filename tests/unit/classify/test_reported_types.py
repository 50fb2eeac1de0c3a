"""Which types the report tells of parameters and results, where some calls are real and others only supposed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decision import Decision

ESTIMATOR = """import tensorflow as tf

def scale(x):
    return x / tf.reduce_max(x)

def score(x, y):
    return tf.reduce_sum(scale(x) * y)
"""


def decisions(text: str) -> dict[str, Decision]:
    return {decision.qualname: decision for decision in analyze_text(text).decisions}


def types(decision: Decision) -> tuple[list[str], list[str]]:
    return [str(entry) for entry in decision.parameters[0].types], [str(entry) for entry in decision.returns]


def test_what_nobody_calls_adds_nothing_to_what_calls_bring() -> None:
    found = decisions(ESTIMATOR + "\nscale(tf.ones([4, 2]))\n")
    assert types(found["scale"]) == (["float32 (4, 2)"], ["float32 (4, 2)"])
    assert found["scale"].input_signature is None  # `score` may be called with anything


def test_what_is_known_of_a_call_that_nobody_reaches_is_told() -> None:
    found = decisions(ESTIMATOR + "\ndef half():\n    return scale(tf.ones([3]))\n\nscale(tf.ones([4, 2]))\n")
    assert types(found["scale"]) == (["float32 (4, 2)", "float32 (3,)"], ["float32 (4, 2)", "float32 (3,)"])


def test_without_real_calls_the_supposed_one_is_told() -> None:
    assert types(decisions(ESTIMATOR)["scale"])[0] == ["? (...)"]


def test_a_real_call_with_something_unknown_is_told() -> None:
    found = decisions(ESTIMATOR + "\nimport data\n\nscale(tf.ones([4, 2]))\nscale(tf.identity(data.load()))\n")
    assert types(found["scale"])[0] == ["float32 (4, 2)", "? (...)"]
