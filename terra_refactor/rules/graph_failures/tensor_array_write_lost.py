"""TR320: the result of `TensorArray.write` is not used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, _ in view.calls_with(Trait.CHANGES_TENSOR_ARRAY):
        if not view.code.readers(call.op, results=True):
            yield LocalHazard(
                call.op, f"the result of `{view.written(call.op)}` is dropped: in a graph the array stays as it was"
            )


RULE: Final = Rule(
    id="TR320",
    name="tensor-array-write-lost",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`TensorArray.write` changes the array in place in eager code; in a graph it returns a changed copy.",
    explanation=(
        "In eager code a `TensorArray` is a Python object that `write`, `unstack`, `scatter` and `split` change in place. In a graph each "
        "of them gives a new array and leaves the old one alone: an element whose write is dropped is zero or, in an array of dynamic "
        "size, missing."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        rows.write(i, x * float(i))  # TR320
    return rows.stack()


result = step(tf.ones([2]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        rows = rows.write(i, x * float(i))
    return rows.stack()


result = step(tf.ones([2]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    rows = []
    for i in range(3):
        rows.append(x * float(i))
    return tf.stack(rows)


result = step(tf.ones([2]))
""",
    ),
    cure="Assign the result: `array = array.write(i, value)`.",
    check=check,
    silent=True,
)
