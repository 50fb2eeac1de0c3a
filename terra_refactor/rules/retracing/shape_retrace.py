"""TR202: calls with different shapes, each of which causes a trace."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Retraces, Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR202",
    name="shape-retrace",
    kind=RuleKind.DECISION,
    severity=Severity.WARNING,
    summary="A traced function is retraced for every new shape of its arguments.",
    explanation=(
        "Without `reduce_retracing=True` or an `input_signature`, every new shape (a last partial batch, unpadded text) "
        "causes a new trace."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function  # TR202
def step(x):
    return tf.reduce_sum(x * x)


for size in (3, 4, 5, 6):
    step(tf.ones([size]))
""",
        good="""\
import tensorflow as tf


@tf.function(reduce_retracing=True)
def step(x):
    return tf.reduce_sum(x * x)


for size in (3, 4, 5, 6):
    step(tf.ones([size]))
""",
    ),
    cure="Add `reduce_retracing=True`.",
    retraces=Retraces(("shape",), "add `reduce_retracing=True`, or an `input_signature`"),
)
