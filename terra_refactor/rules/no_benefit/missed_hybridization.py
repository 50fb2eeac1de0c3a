"""TR506: a function that is safe as a graph and does enough tensor work to pay off."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR506",
    name="missed-hybridization",
    kind=RuleKind.DECISION,
    severity=Severity.INFORMATION,
    summary="A function that is safe as a graph and does enough tensor work to pay for it.",
    explanation="Run eagerly, each small operation costs some microseconds of Python; a graph runs them all in one call.",
    samples=Samples(
        bad="""\
import tensorflow as tf


def step(x):  # TR506
    for _ in range(10):
        x = tf.sqrt(x * x + 1.0) / 2.0
    return x


for _ in range(1000):
    step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    for _ in range(10):
        x = tf.sqrt(x * x + 1.0) / 2.0
    return x


for _ in range(1000):
    step(tf.ones([3]))
""",
    ),
    cure="Add `tf.function`, as `terra-refactor fix` does.",
)
