"""TR401: an operation that certainly fails on these shapes."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import ErrorKind

RULE: Final = Rule(
    id="TR401",
    name="shape-mismatch",
    kind=RuleKind.DECISION,
    severity=Severity.ERROR,
    summary="An operation that is invalid for these shapes.",
    explanation=(
        "The sizes of some axes contradict each other, so the operation raises `InvalidArgumentError` (eagerly) or `ValueError: "
        "Dimensions must be equal` (in a graph)."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

a = tf.ones([2, 3])
b = tf.ones([4, 5])
c = tf.matmul(a, b)  # TR401
""",
        good="""\
import tensorflow as tf

a = tf.ones([2, 3])
b = tf.ones([3, 5])
c = tf.matmul(a, b)
""",
    ),
    cure="Make the shapes (or dtypes) agree where the message says they differ.",
    failure=ErrorKind.SHAPE,
)
