"""The arguments that a `tf.function` is proposed with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions

RELAXED = (("reduce_retracing", "True"),)
ROWS = "f(tf.boolean_mask(tf.ones([100, 3]), tf.random.uniform([100]) > 0.5))"
LISTED = "f([tf.boolean_mask(tf.ones([100, 3]), tf.random.uniform([100]) > 0.5), tf.ones([2, 3])])"
VARYING = "f(tf.ones([2, 3]))\nf(tf.ones([4, 3]))\nf(tf.ones([5, 3]))"


@pytest.mark.parametrize(
    ("decorator", "body", "calls", "arguments"),
    [
        ("", "tf.tanh(x)", ROWS, RELAXED),  # a size that only a run knows
        ("@tf.function", "tf.tanh(x)", ROWS, ()),  # no reason to change what is a graph already
        ("", "tf.tanh(x)", "f(tf.ones([2, 3]))", ()),
        ("", "tf.tanh(x)", VARYING, RELAXED),
        ("@tf.function", "tf.tanh(x)", VARYING, RELAXED),
        ("@tf.function(jit_compile=True)", "tf.tanh(x)", VARYING, (("jit_compile", "True"), *RELAXED)),
        ("@tf.function(reduce_retracing=False)", "tf.tanh(x)", VARYING, ()),  # as its author wants it
        ("", "tf.add_n([tf.reduce_sum(tf.tanh(each)) for each in x])", LISTED, RELAXED),
        ("", "tf.tanh(x) * len(x)", VARYING, ()),  # the size is a Python value, which would be none
        ("", "tf.tanh(x)", "f(tf.ones([2, 3]))\nf(tf.ones([3]))", ()),  # of several ranks nothing can be kept
    ],
)
def test_shapes_are_relaxed_where_they_vary(
    decorator: str, body: str, calls: str, arguments: tuple[tuple[str, str], ...]
) -> None:
    text = f"import tensorflow as tf\n\n{decorator}\ndef f(x):\n    return {body}\n\n{calls}\n"
    assert analyze_text(text, DecisionOptions(min_ops=0)).decision("f").proposal.arguments == arguments
