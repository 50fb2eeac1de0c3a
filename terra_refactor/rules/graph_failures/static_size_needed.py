"""TR309: a size that is None while the graph is traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Why
from terra_refactor.facts.open_sizes import uses_of_open_sizes
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    for use in uses_of_open_sizes(view, {Why.BATCH, Why.DECLARED}):
        cure = CureHint(CureKind.DYNAMIC_SIZE) if use.is_curable else None
        yield LocalHazard(use.op, use.message, use.holds, cure=cure)


RULE: Final = Rule(
    id="TR309",
    name="static-size-needed",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`x.shape[i]` of an axis whose size is not fixed is None while the graph is traced, and is used as a number.",
    explanation=(
        "Eagerly `x.shape[0]` is an int. In a graph it is the static size: None if the `input_signature` says None, and for "
        "batches that a loop inside the graph takes from a dataset without `drop_remainder=True`, even if all batches are full. "
        "(A batch that eager code passes to a graph has its real size.) A comparison such as `x.shape[0] != 32` is then always "
        "true, and `len(x)` is a tensor. Other uses raise `TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'`, "
        "`ValueError: None values not supported`, `Failed to convert elements of [None, 3] to Tensor`, `'NoneType' object "
        "cannot be interpreted as an integer`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    rows = x.shape[0]  # TR309
    return tf.reshape(x, [rows * 3])


result = flatten(tf.ones([2, 3]))
""",
        good="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    rows = tf.shape(x)[0]
    return tf.reshape(x, [rows * 3])


result = flatten(tf.ones([2, 3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flatten(x):
    columns = x.shape[1]
    return tf.reshape(x, [-1, columns * 1]) * tf.ones([columns])


result = flatten(tf.ones([2, 3]))
""",
    ),
    cure="Use `tf.shape(x)[i]`, which is the size at run time.",
    check=check,
    speaks_of_sizes=True,
    cured_by_shim=True,
)
