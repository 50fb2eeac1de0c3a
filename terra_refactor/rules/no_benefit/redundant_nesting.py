"""TR501: a traced function that is called only by graphs."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR501",
    name="redundant-nesting",
    kind=RuleKind.DECISION,
    severity=Severity.INFORMATION,
    summary="A `tf.function` that only other graphs call adds nothing.",
    explanation=(
        "A graph inlines the functions it calls, decorated or not. An inner decorator adds a nested function, a call operation, "
        "and tracing time. Keep it if code outside of the project calls the function directly."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function  # TR501
def scale(x):
    return tf.tanh(x) * 2.0


@tf.function
def step(x):
    return tf.reduce_sum(scale(x))


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


def scale(x):
    return tf.tanh(x) * 2.0


@tf.function
def step(x):
    return tf.reduce_sum(scale(x))


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def scale(x):
    return tf.tanh(x) * 2.0


@tf.function
def step(x):
    return tf.reduce_sum(scale(x))


step(scale(tf.ones([3])))
""",
    ),
    cure="Remove the inner decorator.",
)
