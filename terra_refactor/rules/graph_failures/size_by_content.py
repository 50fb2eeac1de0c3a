"""TR323: a tensor with a data-dependent size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Why
from terra_refactor.facts.open_sizes import is_used, open_first_size, size_in_words, sizes_read, uses_of_open_sizes
from terra_refactor.facts.records import ItemRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import UNSTACK


def check(view: ContextView) -> Iterator[LocalHazard]:
    if view.function.kind is FunctionKind.MODULE:
        return  # no graph
    found: dict[OpId, LocalHazard] = {}
    for call, name in view.library_calls():
        if name == UNSTACK and len(call.arguments) == 1:
            size = open_first_size(view.value(call.arguments[0].value))
            if size is not None and size.why is Why.CONTENT:
                written = view.written(call.op)
                found[call.op] = LocalHazard(
                    call.op, f"the number of parts of `{written}` depends on the data: in a graph this raises"
                )
    for number, size in sizes_read(view):
        if size.why is Why.CONTENT and not size.is_tensor and is_used(view, number):
            cure = CureHint(CureKind.DYNAMIC_SIZE) if isinstance(view.made(number), ItemRead) else None
            found[number] = LocalHazard(number, _message(view, number), cure=cure)
    for use in uses_of_open_sizes(view, {Why.CONTENT}):
        found.setdefault(use.op, LocalHazard(use.op, use.message, use.holds))
    yield from found.values()


def _message(view: ContextView, number: OpId) -> str:
    what = size_in_words(view, number)
    return f"{what} is None while a graph is traced: it depends on the content of the tensor"


RULE: Final = Rule(
    id="TR323",
    name="size-by-content",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`y.shape[0]` of a result of `tf.where`, `tf.boolean_mask`, `x[mask]` or `tf.unique` is None in a graph.",
    explanation=(
        "The length of these results depends on values, as it does for `tf.range(n)`, `tf.zeros([n, 3])`, `x[:n]` and "
        "`tf.tile(x, [n, 1])` with a tensor `n`, for `tf.py_function`, decoded images and ragged rows. Lengths that follow from "
        "`tf.shape` and constants are known. Eagerly `y.shape[0]` is a number; while a graph is traced it is None: `TypeError: "
        "float() argument must be a string or a real number, not 'NoneType'`, `ValueError: None values not supported`, "
        "`TypeError: 'NoneType' object cannot be interpreted as an integer`. A comparison such as `y.shape[0] == 0` is silently "
        "false."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def mean_of_positive(x):
    positive = x[x > 0.0]
    return tf.reduce_sum(positive) / float(positive.shape[0])  # TR323


result = mean_of_positive(tf.constant([1.0, -2.0, 3.0]))
""",
        good="""\
import tensorflow as tf


@tf.function
def mean_of_positive(x):
    positive = x[x > 0.0]
    return tf.reduce_sum(positive) / tf.cast(tf.shape(positive)[0], tf.float32)


result = mean_of_positive(tf.constant([1.0, -2.0, 3.0]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def places(x):
    found = tf.where(x > 0.0)
    return found * found.shape[1] + x.shape[0]


result = places(tf.constant([1.0, -2.0, 3.0]))
""",
    ),
    cure="`tf.shape(y)[0]`, or `len(y)`.",
    check=check,
    speaks_of_sizes=True,
)
