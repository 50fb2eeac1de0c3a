"""TR404: shapes that go together in a way that nobody meant: an outer product by accident, and a choice among one.

Ignores: axes that are added where the operation is written (`x[:, None] - y`): that is how an outer product is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_equal, format_dim
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    NONE,
    Constant,
    LibraryValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_DIFFERENCES: Final = frozenset({"-", "==", "!="})
"""Operators whose operands are meant to go together one by one, so that unknown sizes are taken to be the same."""
_OPERATORS: Final = frozenset({"+", "*", "/", "//", "<", "<=", ">", ">="})
_FUNCTIONS: Final = {
    "tensorflow.math.subtract": "-",
    "tensorflow.math.squared_difference": "-",
    "tensorflow.math.equal": "==",
    "tensorflow.math.not_equal": "!=",
    "tensorflow.math.add": "+",
    "tensorflow.math.multiply": "*",
    "tensorflow.math.divide": "/",
    "tensorflow.math.greater": ">",
    "tensorflow.math.less": "<",
}
_CHOICES: Final = {
    "tensorflow.math.argmax": ("input", 0, "always 0"),
    "tensorflow.math.argmin": ("input", 0, "always 0"),
    "tensorflow.compat.v1.argmax": ("input", 0, "always 0"),
    "tensorflow.compat.v1.argmin": ("input", 0, "always 0"),
    "tensorflow.nn.softmax": ("logits", -1, "always 1"),
    "tensorflow.nn.log_softmax": ("logits", -1, "always 0"),
    "tensorflow.compat.v1.math.softmax": ("logits", -1, "always 1"),
    "tensorflow.compat.v1.math.log_softmax": ("logits", -1, "always 0"),
    "keras.activations.softmax": ("x", -1, "always 1"),
    "keras.ops.softmax": ("x", -1, "always 1"),
    "keras.ops.argmax": ("x", 0, "always 0"),
}
"""Functions that choose along an axis: the parameter with the data, the axis if none is given, the result where the axis has size 1."""
_CROSS_ENTROPIES: Final = frozenset(
    {
        "tensorflow.nn.softmax_cross_entropy_with_logits",
        "tensorflow.compat.v1.nn.softmax_cross_entropy_with_logits",
        "tensorflow.compat.v1.nn.softmax_cross_entropy_with_logits_v2",
    }
)
"""Losses that want a row of classes for each example, and take all axes but the last together."""
_SOFTMAX: Final = (
    Constant("softmax"),
    LibraryValue("keras.activations.softmax"),
    LibraryValue("tensorflow.nn.softmax"),
)
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


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op, operator, left, right in _elementwise(view):
        message = _outer(view, operator, left, right)
        if message is not None:
            yield LocalHazard(op, message)
    for call, name in view.library_calls():
        if name in _CHOICES:
            message = _choice(view, call, name)
        elif name == "keras.layers.Dense":
            message = _dense(view, call, name)
        elif name in _CROSS_ENTROPIES:
            message = _labels_without_classes(view, call, name)
        else:
            message = None
        if message is not None:
            yield LocalHazard(call.id, message)


def _elementwise(view: ContextView) -> Iterator[tuple[OpId, str, OpId, OpId]]:
    """Operations on two operands, one by one: number, operator, operands."""
    for binary in view.reached(ops.Binary):
        if binary.operator in _DIFFERENCES or binary.operator in _OPERATORS:
            yield binary.id, binary.operator, binary.left, binary.right
    for compare in view.reached(ops.Compare):
        if compare.operator in _DIFFERENCES or compare.operator in _OPERATORS:
            yield compare.id, compare.operator, compare.left, compare.right
    for call, name in view.library_calls():
        operator = _FUNCTIONS.get(name.replace("compat.v1.", ""))
        if operator is None:
            continue
        left, right = view.library_argument(call, name, "x"), view.library_argument(call, name, "y")
        if left is not None and right is not None:
            yield call.id, operator, left, right


def _outer(view: ContextView, operator: str, left: OpId, right: OpId) -> str | None:
    """What is wrong where a vector meets a column of the same length; None if nothing is."""
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
    """Whether `(n, *rest)` meets `(n, 1, *rest)`, so that the one axis goes with itself."""
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


def _is_widened(view: ContextView, number: OpId, depth: int = 0) -> bool:
    """Whether an axis is added on purpose where the operand is written (or where the local variable that holds it is)."""
    if depth > 4:
        return False
    op = view.op(number)
    if isinstance(op, ops.LoadItem):
        index = view.value(op.index)
        parts = index.elements if isinstance(index, TupleValue) else (index,)
        return NONE in parts
    if isinstance(op, ops.Call):
        function = view.op(op.function)
        name = function.name if isinstance(function, ops.LoadAttribute | ops.LoadName) else ""
        if name in _WIDENING:
            return True
        return any(_is_widened(view, argument.value, depth + 1) for argument in op.arguments[:1])
    if isinstance(op, ops.LoadName):
        return any(
            store.name == op.name and store.value is not None and _is_widened(view, store.value, depth + 1)
            for store in view.reached_stores()
        )
    if isinstance(op, ops.Binary):
        return _is_widened(view, op.left, depth + 1) or _is_widened(view, op.right, depth + 1)
    if isinstance(op, ops.Unary):
        return _is_widened(view, op.operand, depth + 1)
    return False


def _is_made_up(view: ContextView, number: OpId, depth: int = 0) -> bool:
    """Whether an operand is a list of numbers to compare with, such as `tf.range(n)`, rather than data."""
    op = view.op(number)
    if depth > 4:
        return False
    if isinstance(op, ops.LoadName):
        return any(
            store.name == op.name and store.value is not None and _is_made_up(view, store.value, depth + 1)
            for store in view.reached_stores()
        )
    if not isinstance(op, ops.Call):
        return False
    function = view.op(op.function)
    name = function.name if isinstance(function, ops.LoadAttribute | ops.LoadName) else ""
    if name in ("cast", "constant", "convert_to_tensor") and op.arguments:
        inner = op.arguments[0].value
        return _is_made_up(view, inner, depth + 1) or isinstance(view.op(inner), ops.BuildContainer)
    return name in ("range", "arange", "linspace")


def _choice(view: ContextView, call: ops.Call, name: str) -> str | None:
    parameter, default, outcome = _CHOICES[name]
    data = view.library_argument(call, name, parameter)
    if data is None:
        return None
    given = view.library_argument(call, name, "axis", "dimension", "dim")
    axis = default if given is None else _axis(view.value(given), default)
    if axis is None:
        return None
    for context in view.facts.contexts_of(view.context.function):
        value = context.value(data)
        if value is not None and not _chooses_from_one(value, axis):
            return None
    shape = _shape_of(view.value(data))
    if shape is None:
        return None
    what = name.rpartition(".")[2]
    return f"{what} along axis {axis} of shape {format_shape(shape)}, which has size 1: the result is {outcome}"


def _labels_without_classes(view: ContextView, call: ops.Call, name: str) -> str | None:
    """What is wrong where labels have all axes of the logits but the last: the examples of the one meet the classes of the other."""
    given = [view.library_argument(call, name, parameter) for parameter in ("labels", "logits")]
    if None in given or view.library_argument(call, name, "axis", "dim") is not None:
        return None
    labels, logits = (_shape_of(view.value(operand)) for operand in given if operand is not None)
    if not labels or logits is None or len(labels) != len(logits) - 1:
        return None
    classes = logits[-1]
    if isinstance(labels[-1], int) or not isinstance(classes, int) or classes == 1:
        # a distribution for all examples has the size of the classes; other known sizes raise
        return None
    return (
        f"labels of shape {format_shape(labels)} lack the axis of the {classes} classes that logits of shape {format_shape(logits)} have: "
        "the examples of the labels are taken for classes"
    )


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


def _chooses_from_one(value: Value, axis: int) -> bool:
    """Whether a batch of more than one has one unit along the axis."""
    shape = _shape_of(value)
    return shape is not None and len(shape) == 2 and axis in (1, -1) and shape[1] == 1 and shape[0] != 1


def _dense(view: ContextView, call: ops.Call, name: str) -> str | None:
    units, activation = view.library_argument(call, name, "units"), view.library_argument(call, name, "activation")
    if units is None or activation is None or view.value(units) != Constant(1):
        return None
    if view.value(activation) not in _SOFTMAX:
        return None
    return "a layer of one unit with softmax (axis -1 of size 1) gives always 1; sigmoid is meant"


RULE: Final = Rule(
    id="TR404",
    name="suspicious-broadcast",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="Shapes that are legal together and mean something else: an outer product by accident, or a choice among one.",
    explanation=(
        "Nothing raises. `(n,)` with `(n, 1)` is broadcast to `(n, n)`: each prediction is compared with each label, the loss goes down, "
        "and the model learns the mean. The argmax along an axis of size 1 is always 0, and the softmax of one unit is always 1."
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
    cure="Give both the same rank: squeeze the one or reshape the other. With one unit, take a sigmoid and compare with a threshold.",
    check=check,
)
