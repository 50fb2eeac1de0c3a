"""TR606: a renamed argument of `tf.function`."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR606",
    name="deprecated-argument",
    kind=RuleKind.DECISION,
    severity=Severity.WARNING,
    summary="An argument of `tf.function` that was renamed.",
    explanation=(
        "`experimental_relax_shapes` is now `reduce_retracing`, `experimental_compile` is now `jit_compile`. TensorFlow 2.21 accepts both "
        "old names and announces their removal."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(experimental_relax_shapes=True)  # TR606
def step(x):
    return tf.reduce_sum(x * x)


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function(reduce_retracing=True)
def step(x):
    return tf.reduce_sum(x * x)


step(tf.ones([3]))
""",
    ),
    cure="Use the new name.",
)
