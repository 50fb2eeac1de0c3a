"""TR323: the size of a tensor that only its content tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dtype import BOOL
from terra_refactor.domain.value import Constant, TensorValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, has_trait, is_tensorflow_tensor
from terra_refactor.tf_model.spec import Trait

_BY_CONTENT: Final = frozenset(
    {
        *(
            "tensorflow.boolean_mask",
            "tensorflow.unique",
            "tensorflow.unique_with_counts",
            "tensorflow.dynamic_partition",
        ),
        *("tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.compat.v1.py_func"),
        *("tensorflow.image.non_max_suppression", "tensorflow.image.non_max_suppression_with_scores"),
    }
)
_BY_ARGUMENT: Final = {
    "tensorflow.range": ("start", "limit", "delta"),
    "tensorflow.repeat": ("repeats",),
    "tensorflow.sequence_mask": ("maxlen",),
}
"""Operations whose result is as long as the value of a tensor says."""
_MAX_DEPTH: Final = 8


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op in view.code.ops:
        match op:
            case ops.LoadItem(object=shape, index=index):
                axis = view.value(index)
                position = axis.value if isinstance(axis, Constant) and type(axis.value) is int else None
            case ops.UnpackElement(source=shape, position=position):
                pass
            case ops.Call() if _is_unstacked(view, op):
                given = op.arguments[0].value
                if _is_open(view, given, 0) and _by_content(view, given, 0):
                    yield LocalHazard(
                        op.id, f"how many parts `{view.written(op.id)}` has only a run tells: in a graph this raises"
                    )
                continue
            case _:
                continue
        tensor = view.tensor_of_shape(shape)
        if tensor is None or position is None or not view.is_symbolic(tensor) or not _is_open(view, tensor, position):
            continue
        if _by_content(view, tensor, 0) and _is_used(view, op.id):
            what = f"`{view.written(op.id)}`" if isinstance(op, ops.LoadItem) else f"a size of `{view.written(tensor)}`"
            cure = CureHint(CureKind.DYNAMIC_SIZE) if isinstance(op, ops.LoadItem) else None
            yield LocalHazard(
                op.id, f"{what} is None while a graph is traced: only the content of the tensor tells it", cure=cure
            )


def _is_unstacked(view: ContextView, call: ops.Call) -> bool:
    fact = view.calls.get(call.id)
    return fact is not None and fact.library == ("tensorflow.unstack",) and len(call.arguments) == 1


def _is_open(view: ContextView, tensor: OpId, position: int) -> bool:
    """Whether that size is not known."""
    shapes = [member.type.shape for member in members(view.value(tensor)) if isinstance(member, TensorValue)]
    return bool(shapes) and all(
        shape is None or (-len(shape) <= position < len(shape) and shape[position] is None) for shape in shapes
    )


def _by_content(view: ContextView, number: OpId, depth: int) -> bool:
    """Whether the shape of a result follows from the content of tensors, directly or by element-wise operations on such."""
    if depth > _MAX_DEPTH:
        return False
    op = view.op(number)
    match op:
        case ops.LoadName():
            before = [store for store in view.reached_stores() if store.name == op.name and store.id < op.id]
            value = before[-1].value if before else None
            return value is not None and _by_content(view, value, depth + 1)
        case ops.LoadItem(object=container, index=index):
            if not view.is_symbolic(number):
                return False
            return _is_mask(view, index) or _has_open_bound(view, index) or _by_content(view, container, depth + 1)
        case ops.Binary(left=left, right=right):
            return any(_by_content(view, side, depth + 1) for side in (left, right))
        case ops.UnpackElement(source=source):
            return _by_content(view, source, depth + 1)
        case ops.Unary(operand=operand):
            return _by_content(view, operand, depth + 1)
        case ops.Call():
            return _call_by_content(view, op, depth)
        case _:
            return False


def _call_by_content(view: ContextView, call: ops.Call, depth: int) -> bool:
    fact = view.calls.get(call.id)
    if fact is None or len(fact.library) != 1 or (fact.callees and "function" not in fact.library[0]):
        return False
    name = fact.library[0]
    if name in _BY_CONTENT:
        return True
    if name == "tensorflow.where":
        return len(call.arguments) == 1
    if name in _BY_ARGUMENT:
        return any(view.is_symbolic(argument.value) for argument in call.arguments if argument.keyword is None)
    if not has_trait(name, Trait.TENSOR_OPERATION):
        return False
    given = call.arguments[:1]
    return any(view.is_symbolic(argument.value) and _by_content(view, argument.value, depth + 1) for argument in given)


def _is_mask(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        isinstance(member, TensorValue) and is_tensorflow_tensor(member) and member.type.dtype == BOOL
        for member in alternatives
    )


def _has_open_bound(view: ContextView, number: OpId) -> bool:
    op = view.op(number)
    if isinstance(op, ops.BuildContainer):
        return any(_has_open_bound(view, element.value) for element in op.elements[:1])
    if not isinstance(op, ops.BuildSlice):
        return False
    return any(bound is not None and view.is_symbolic(bound) for bound in (op.lower, op.upper))


def _is_used(view: ContextView, number: OpId) -> bool:
    """Whether anything but `is None` is done with the size."""
    names = {op.name for op in view.code.ops if isinstance(op, ops.StoreName) and op.value == number}
    reads = {number} | {op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name in names}
    for op in view.code.ops:
        if op is None or isinstance(op, ops.StoreName) or reads.isdisjoint(operands(op)):
            continue
        if not (isinstance(op, ops.Compare) and op.operator in ("is", "is not")):
            return True
    return False


RULE: Final = Rule(
    id="TR323",
    name="size-by-content",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`y.shape[0]` of what `tf.where`, `tf.boolean_mask`, `x[mask]` or `tf.unique` gave is None in a graph.",
    explanation=(
        "How long the result of these operations is only their run tells, and so of `tf.range(n)`, `tf.repeat(x, n)` and `x[:n]` with a "
        "tensor `n`, and of `tf.py_function`. Eagerly `y.shape[0]` is a number; while a graph is traced it is None: `TypeError: float() "
        "argument must be a string or a real number, not 'NoneType'`, `ValueError: None values not supported`, `TypeError: 'NoneType' "
        "object cannot be interpreted as an integer`. A comparison such as `y.shape[0] == 0` is silently false."
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
)
