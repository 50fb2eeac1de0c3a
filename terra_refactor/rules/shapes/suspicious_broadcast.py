"""TR404: shapes that combine in an unintended way: an accidental outer product, a selection from a single element, and a
gather that looks up each example in all examples.

Ignores: axes added in the operand itself (`x[:, None] - y`), which shows that an outer product is intended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_equal, eager, format_dim
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    NONE,
    Constant,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import Call, Display, Fact, ItemRead, Operation
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.value_sources import sources_of
from terra_refactor.tf_model.along_axes import (
    AxisChoice,
    choice_of,
    is_gather,
    is_layer_call,
    is_softmax,
    operator_of,
    wants_classes,
)
from terra_refactor.tf_model.graph_traits import DENSE

_DIFFERENCES: Final = frozenset({"-", "==", "!="})
"""Operators whose operands are meant to correspond element by element, so that unknown sizes are assumed to be equal."""
_OPERATORS: Final = frozenset({"+", "*", "/", "//", "<", "<=", ">", ">="})
_WIDENING: Final = (
    "expand_dims",
    "reshape",
    "tile",
    "broadcast_to",
    "meshgrid",
    "transpose",
    "newaxis",
    "repeat",
    "stack",
    "pad_rank",
)


_CONVERTING: Final = ("cast", "constant", "convert_to_tensor")
_COUNTING: Final = ("range", "arange", "linspace")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op, operator, left, right in _elementwise(view):
        message = _outer(view, operator, left, right)
        if message is not None:
            yield LocalHazard(op, message)
    for call, name in view.library_calls():
        choice = choice_of(name)
        if choice is not None:
            message = _choice(view, call, name, choice)
        elif is_gather(name):
            message = _gathered(view, call, name)
        elif name == DENSE:
            message = _dense(view, call, name)
        elif wants_classes(name):
            message = _labels_without_classes(view, call, name)
        else:
            message = None
        if message is not None:
            yield LocalHazard(call.op, message)


def _elementwise(view: ContextView) -> Iterator[tuple[OpId, str, OpId, OpId]]:
    """Element-wise operations on two operands: operation number, operator, operands."""
    for operation in view.reached(Operation):
        if operation.right is not None and operation.symbol in _DIFFERENCES | _OPERATORS:
            yield operation.op, operation.symbol, operation.left, operation.right
    for call, name in view.library_calls():
        operator = operator_of(name)
        if operator is None:
            continue
        left, right = view.library_argument(call, name, "x"), view.library_argument(call, name, "y")
        if left is not None and right is not None:
            yield call.op, operator, left, right


def _outer(view: ContextView, operator: str, left: OpId, right: OpId) -> str | None:
    """A message if a vector is broadcast against a column of the same length; else None."""
    first, second = _sole_tensor(view.value(left)), _sole_tensor(view.value(right))
    if first is None or second is None or TensorKind.TENSOR not in (first.kind, second.kind):
        return None
    a, b = first.type.shape, second.type.shape
    if a is None or b is None or abs(len(a) - len(b)) != 1:
        return None
    row, column, column_op = (a, b, right) if len(a) < len(b) else (b, a, left)
    if not row or column[1] != 1 or not _same_batch(row, column, unknown_too=operator in _DIFFERENCES):
        return None
    if _is_widened(view, column_op) or _is_made_up(view, left if column_op == right else right):
        return None
    made = (column[0] if isinstance(column[0], int) else row[0], row[0], *row[1:])
    return (
        f"shapes {format_shape(a)} and {format_shape(b)} are broadcast to {format_shape(made)}: each of {_count(row[0])} with each of "
        f"{_count(column[0])} (axis 1 of size 1 against axis 0)"
    )


def _count(size: Dim) -> str:
    return "them" if size is None else format_dim(size)


def _same_batch(row: tuple[Dim, ...], column: tuple[Dim, ...], *, unknown_too: bool) -> bool:
    """Whether `(n, *rest)` is combined with `(n, 1, *rest)`, so that one axis is broadcast against itself."""
    if row[0] == 1 or column[0] == 1 or len(row[1:]) != len(column[2:]):
        return False
    if not all(definitely_equal(x, y) for x, y in zip(row[1:], column[2:], strict=True)):
        return False
    if definitely_equal(row[0], column[0]):
        return True
    return unknown_too and len(row) == 1 and not isinstance(row[0], int) and not isinstance(column[0], int)


def _sole_tensor(value: Value) -> TensorValue | None:
    alternatives = members(value)
    if len(alternatives) != 1 or not isinstance(alternatives[0], TensorValue):
        return None
    return alternatives[0]


def _is_widened(view: ContextView, number: OpId) -> bool:
    """Whether an axis is added explicitly in the operand (or in the local variable that holds it)."""

    def parts(fact: Fact) -> tuple[OpId, ...]:
        match fact:
            case Call(first=int() as first):
                return (first,)
            case Operation(is_comparison=False, sides=sides):
                return sides
            case _:
                return ()

    for fact in view.behind(number, parts):
        if isinstance(fact, ItemRead):
            index = view.value(fact.index)
            if NONE in (index.elements if isinstance(index, TupleValue) else (index,)):
                return True
        elif isinstance(fact, Call) and fact.method in _WIDENING:
            return True
    return False


def _is_made_up(view: ContextView, number: OpId) -> bool:
    """Whether an operand is a list of numbers to compare with, such as `tf.range(n)`, rather than data."""

    def converted(fact: Fact) -> tuple[OpId, ...]:
        is_conversion = isinstance(fact, Call) and fact.method in _CONVERTING
        return (fact.first,) if isinstance(fact, Call) and is_conversion and fact.first is not None else ()

    def is_list(fact: Fact) -> bool:
        written = [view.made(each) for each in converted(fact)]
        if any(isinstance(each, Display) and each.is_sequence for each in written):
            return True
        return isinstance(fact, Call) and fact.method in _COUNTING

    return any(map(is_list, view.behind(number, converted)))


def _choice(view: ContextView, call: Call, name: str, choice: AxisChoice) -> str | None:
    data = view.library_argument(call, name, choice.parameter)
    if data is None:
        return None
    given = view.library_argument(call, name, "axis", "dimension", "dim")
    axis = choice.axis if given is None else _axis(view.value(given), choice.axis)
    if axis is None:
        return None
    sources = sources_of(view, data)
    is_of_layer = bool(sources) and all(each.names and all(map(is_layer_call, each.names)) for each in sources)
    for context in view.facts.contexts_of(view.context.function):
        value = context.value(data)
        if value is not None and not _chooses_from_one(value, axis, is_of_layer=is_of_layer):
            return None
    shape = _shape_of(view.value(data))
    if shape is None:
        return None
    what = name.rpartition(".")[2]
    return f"{what} along axis {axis} of shape {format_shape(shape)}, which has size 1: the result is {choice.outcome}"


def _labels_without_classes(view: ContextView, call: Call, name: str) -> str | None:
    """A message if labels have all axes of the logits but the last, so that examples are broadcast against classes; else None."""
    given = [view.library_argument(call, name, parameter) for parameter in ("labels", "logits")]
    if None in given or view.library_argument(call, name, "axis", "dim") is not None:
        return None
    labels, logits = (_shape_of(view.value(operand)) for operand in given if operand is not None)
    if not labels or logits is None or len(labels) != len(logits) - 1:
        return None
    classes = logits[-1]
    if isinstance(labels[-1], int) or not isinstance(classes, int) or classes == 1:
        # one distribution for all examples has the size of the classes; other known sizes raise
        return None
    return (
        f"labels of shape {format_shape(labels)} lack the axis of the {classes} classes that logits of shape {format_shape(logits)} have: "
        "the batch axis of the labels is broadcast against the classes"
    )


def _gathered(view: ContextView, call: Call, name: str) -> str | None:
    """A message if each example is looked up in all examples: `gather(values, index, axis=1)` of `(batch, n)` and `(batch, k)`."""
    data, index = view.library_argument(call, name, "params", "x"), view.library_argument(call, name, "indices")
    given = view.library_argument(call, name, "axis")
    if data is None or index is None or given is None or _axis(view.value(given), 0) != 1:
        return None
    inner = view.library_argument(call, name, "batch_dims")
    if inner is not None and view.value(inner) != Constant(0):
        return None
    values, places = _shape_of(view.value(data)), _shape_of(view.value(index))
    if values is None or not places or len(values) < 2 or values[0] == 1 or not definitely_equal(values[0], places[0]):
        return None
    if len(places) == 1 and (
        values[1] is None or definitely_equal(*values[:2]) or _may_choose_columns(places[0], values[1])
    ):
        # an order of the columns, or an equal number of them by chance
        return None
    made = (values[0], *places, *values[2:])
    return (
        f"gather along axis 1 of shape {format_shape(values)} at indices of shape {format_shape(places)} gives {format_shape(made)}: each "
        f"of {format_dim(places[0])} with each of {format_dim(values[0])} (batch_dims=1 takes them one by one)"
    )


def _may_choose_columns(count: Dim, columns: Dim) -> bool:
    """Whether that number of indices may select columns, each at most once."""
    known, most = eager(count), eager(columns)
    return isinstance(known, int) and not (isinstance(most, int) and known > most)


def _axis(value: Value, default: int) -> int | None:
    if isinstance(value, Constant):
        if value.value is None:
            return default
        if isinstance(value.value, int) and not isinstance(value.value, bool):
            return value.value
    return None


def _shape_of(value: Value) -> tuple[Dim, ...] | None:
    found = _sole_tensor(value)
    return None if found is None else found.type.shape


def _chooses_from_one(value: Value, axis: int, *, is_of_layer: bool) -> bool:
    """Whether a batch of more than one example has a single unit along the axis; with several axes only if a layer's
    units are along the last.
    """
    shape = _shape_of(value)
    if not shape or shape[-1] != 1 or shape[0] == 1:
        return False
    return axis in (-1, len(shape) - 1) and (len(shape) == 2 or (is_of_layer and len(shape) > 2))


def _dense(view: ContextView, call: Call, name: str) -> str | None:
    units, activation = view.library_argument(call, name, "units"), view.library_argument(call, name, "activation")
    if units is None or activation is None or view.value(units) != Constant(1):
        return None
    if not is_softmax(view.value(activation)):
        return None
    return "a layer of one unit with softmax (axis -1 of size 1) always returns 1; use sigmoid"


RULE: Final = Rule(
    id="TR404",
    name="suspicious-broadcast",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="Shapes that broadcast to something unintended: an accidental outer product, or an argmax or softmax over one element.",
    explanation=(
        "Nothing raises. `(n,)` with `(n, 1)` is broadcast to `(n, n)`: every prediction is compared with every label, the loss "
        "decreases, and the model learns the mean. A gather along axis 1 without "
        "`batch_dims` looks up each example in all examples. The argmax along an axis of size 1 is always 0, and the softmax of one unit "
        "is always 1."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def loss(labels, predictions):
    return tf.reduce_mean(tf.square(labels - predictions))  # TR404


value = loss(tf.ones([8]), tf.ones([8, 1]))
""",
        good="""\
import tensorflow as tf


def loss(labels, predictions):
    return tf.reduce_mean(tf.square(labels - tf.squeeze(predictions, -1)))


value = loss(tf.ones([8]), tf.ones([8, 1]))
""",
        near_miss="""\
import tensorflow as tf


def pairwise_distances(points):
    return tf.abs(points[:, None] - points)


value = pairwise_distances(tf.ones([8]))
""",
    ),
    cure="Give both the same rank: squeeze one of them, or reshape the other. With one unit, take a sigmoid and compare with a threshold.",
    check=check,
)
