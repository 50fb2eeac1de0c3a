"""TR403: an operation on tensors of different dtypes, which TensorFlow does not promote."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import ErrorKind

RULE: Final = Rule(
    id="TR403",
    name="dtype-mismatch",
    kind=RuleKind.DECISION,
    severity=Severity.ERROR,
    summary="An operation on tensors of different dtypes: TensorFlow does not promote.",
    explanation=(
        "`InvalidArgumentError: cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a int32 tensor`. "
        "NumPy would convert both operands to a common dtype."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

a = tf.ones([3])
b = tf.ones([3], tf.int32)
c = a + b  # TR403
""",
        good="""\
import tensorflow as tf

a = tf.ones([3])
b = tf.ones([3], tf.int32)
c = a + tf.cast(b, tf.float32)
""",
    ),
    cure="Make the shapes (or dtypes) agree where the message says they differ.",
    failure=ErrorKind.DTYPE,
)
