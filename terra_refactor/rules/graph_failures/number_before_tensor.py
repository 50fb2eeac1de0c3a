"""TR330: a Python number before a tensor of another dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.dtype import BOOL, FLOAT32, INT32, INTEGER, DType
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import (
    DTypeValue,
    FrozenList,
    PythonType,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import Call, Display, Fact, Operation
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import is_of_tensorflow
from terra_refactor.tf_model.operand_orders import operand_orders

_OF_NUMBERS: Final = {PythonType.BOOL: BOOL, PythonType.INT: INT32, PythonType.FLOAT: FLOAT32}


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        for first, second in operand_orders(name):
            number, tensor = view.library_argument(call, name, first), view.library_argument(call, name, second)
            if number is None or tensor is None or view.is_argument(number):
                continue
            own, other = _dtype_of_number(view, number), _dtype_of_tensor(view, tensor)
            chosen = _chosen_dtype(view, tensor) if own is not None and other is None else None
            if chosen is not None:
                yield LocalHazard(
                    call.op,
                    f"`{view.written(number)}` stands before `{view.written(tensor)}`, whose dtype varies: in a graph it becomes {own}",
                    f"`{view.written(chosen)}` is {own}: in a graph `{view.written(number)}` is",
                )
                break
            if own == INT32 and other is None and view.all_of(tensor, _is_of_any_dtype):
                yield LocalHazard(
                    call.op,
                    f"`{view.written(number)}` stands before `{view.written(tensor)}`, whose dtype is unknown: eagerly it is "
                    f"converted to that, in a graph it becomes {own}",
                    f"`{view.written(tensor)}` is {own}: in a graph `{view.written(number)}` is",
                )
                break
            if own is None or other is None or own == other or (own == FLOAT32 and other in INTEGER):
                continue
            yield LocalHazard(
                call.op,
                f"`{view.written(number)}` stands before `{view.written(tensor)}`, which is {other}: eagerly it is converted to that, in a "
                f"graph it becomes {own}, which does not fit",
            )
            break


def _dtype_of_number(view: ContextView, number: OpId) -> DType | None:
    """The dtype in a graph of a value that is certainly not a tensor; None for other values."""
    display = view.origin(number)
    if isinstance(display, Display) and display.is_sequence and display.items:
        found = {_dtype_of_number(view, item.value) for item in display.items if not item.starred}
        return found.pop() if len(found) == 1 else None
    dtypes = {_made_of(member) for member in members(view.value(number))}
    return dtypes.pop() if len(dtypes) == 1 else None


def _made_of(value: Value) -> DType | None:
    match value:
        case TensorValue(kind=TensorKind.NDARRAY | TensorKind.NUMPY_SCALAR):
            return value.type.dtype
        case TensorValue() | Reference() | TupleValue() | FrozenList():
            return None
        case _:
            kind = python_type(value)
            return None if kind is None else _OF_NUMBERS.get(kind)


def _dtype_of_tensor(view: ContextView, number: OpId) -> DType | None:
    """The dtype of a value that is certainly a TensorFlow tensor."""
    if not view.all_of(number, is_tensorflow_tensor):
        return None
    found = {member.type.dtype for member in members(view.value(number)) if isinstance(member, TensorValue)}
    return found.pop() if len(found) == 1 else None


def _is_of_any_dtype(value: Value) -> bool:
    return is_tensorflow_tensor(value) and isinstance(value, TensorValue) and value.type.dtype is None


def _chosen_dtype(view: ContextView, number: OpId) -> OpId | None:
    """The dtype to which a tensor is converted if only callers know it: such code is meant for several dtypes."""

    def operands(fact: Fact) -> tuple[OpId, ...]:
        return fact.sides if isinstance(fact, Operation) and fact.is_arithmetic else ()

    for fact in view.behind(number, operands):
        library = view.library_of(fact.op)
        if isinstance(fact, Call) and len(library) == 1 and is_of_tensorflow(library[0]):
            wanted = view.library_argument(fact, library[0], "dtype")
            if wanted is not None and view.any_of(wanted, _is_open_dtype):
                return wanted
    return None


def _is_open_dtype(value: Value) -> bool:
    """Whether a dtype is unknown; so is that of a parameter assumed only because it is passed to `tf.cast`."""
    match value:
        case DTypeValue(dtype=None) | UnknownValue() | TensorValue():
            return True
        case _:
            return False


RULE: Final = Rule(
    id="TR330",
    name="number-before-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A Python number to the left of a tensor gets a default dtype in a graph, which may differ from the tensor's.",
    explanation=(
        "Eagerly `tf.maximum(1., x)` converts the number to the dtype of `x`. A graph converts operands from left to right: the "
        "number becomes float32 (an int becomes int32, an array keeps its dtype), and the tensor after it must have the same "
        "dtype: `TypeError: Input 'y' of 'Maximum' Op has type float64 that does not match type float32 of argument 'x'`. Where "
        "the tensor stands first, and with operators (`1. - x`), the number is converted in a graph as it is eagerly. Reported "
        "if both dtypes are known."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def bounded(x):
    return tf.maximum(1.0, x)  # TR330


result = bounded(tf.constant([0.5, 2.0], tf.float64))
""",
        good="""\
import tensorflow as tf


@tf.function
def bounded(x):
    return tf.maximum(x, 1.0)


result = bounded(tf.constant([0.5, 2.0], tf.float64))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def bounded(x):
    return tf.maximum(1.0, x)


result = bounded(tf.constant([0.5, 2.0]))
""",
    ),
    cure="Write the tensor first, or give the number its dtype: `tf.constant(1., x.dtype)`.",
    check=check,
)
