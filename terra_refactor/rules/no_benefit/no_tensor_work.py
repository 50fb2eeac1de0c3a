"""TR502: a `tf.function` that does no tensor computation costs more than it saves."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR502",
    name="no-tensor-work",
    kind=RuleKind.DECISION,
    severity=Severity.WARNING,
    summary="A `tf.function` that does no tensor computation costs more than it saves.",
    explanation=(
        "Calling a traced function takes 100 to 250 microseconds. A function without tensor operations does "
        "nothing that is faster in a graph."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function  # TR502
def pick(x, y):
    return x


pick(tf.ones([3]), tf.ones([3]))
""",
        good="""\
import tensorflow as tf


def pick(x, y):
    return x


pick(tf.ones([3]), tf.ones([3]))
""",
    ),
    cure="Remove the decorator.",
)
