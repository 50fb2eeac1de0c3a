"""TR503: a traced function that receives other Python values in each call."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR503",
    name="no-tensor-input",
    kind=RuleKind.DECISION,
    severity=Severity.WARNING,
    summary="A `tf.function` that takes no tensor, and different Python values on each call, is traced on each call.",
    explanation=(
        "Each combination of Python arguments gets its own graph. If they keep changing, every call is traced, which takes milliseconds, "
        "and no graph is used twice. TensorFlow warns: `5 out of the last 5 calls to <function ...> triggered tf.function retracing ... "
        "passing Python objects instead of tensors`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function  # TR503
def waves(frequency, phase):
    return tf.sin(tf.range(8.0) * frequency + phase)


results = []
for number in range(5):
    results.append(waves(0.5 * number, 1.0))
""",
        good="""\
import tensorflow as tf


def waves(frequency, phase):
    return tf.sin(tf.range(8.0) * frequency + phase)


results = []
for number in range(5):
    results.append(waves(0.5 * number, 1.0))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def waves(frequency, phase):
    return tf.sin(tf.range(8.0) * frequency + phase)


results = []
for _ in range(5):
    results.append(waves(0.5, 1.0))
""",
    ),
    cure="Pass tensors, or remove the decorator.",
)
