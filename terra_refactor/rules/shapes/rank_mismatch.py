"""TR402: an operation that does not accept tensors of this rank."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import ErrorKind

RULE: Final = Rule(
    id="TR402",
    name="rank-mismatch",
    kind=RuleKind.DECISION,
    severity=Severity.ERROR,
    summary="An operation that is invalid for tensors of this rank.",
    explanation="The number of axes alone is wrong: `ValueError: Shape must be at least rank 2 but is rank 1`.",
    samples=Samples(
        bad="""\
import tensorflow as tf

a = tf.ones([3])
b = tf.ones([3, 5])
c = tf.matmul(a, b)  # TR402
""",
        good="""\
import tensorflow as tf

a = tf.ones([1, 3])
b = tf.ones([3, 5])
c = tf.matmul(a, b)
""",
    ),
    cure="Make the shapes (or dtypes) agree where the message says they differ.",
    failure=ErrorKind.RANK,
)
