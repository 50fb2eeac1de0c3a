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
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor
from terra_refactor.tf_model.operand_orders import operand_orders

_OF_NUMBERS: Final = {PythonType.BOOL: BOOL, PythonType.INT: INT32, PythonType.FLOAT: FLOAT32}


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        for first, second in operand_orders(name):
            number, tensor = view.library_argument(call, name, first), view.library_argument(call, name, second)
            if number is None or tensor is None or view.argument_behind(number) is not None:
                continue
            own, other = _dtype_of_number(view, number), _dtype_of_tensor(view, tensor)
            chosen = _chosen_dtype(view, tensor) if own is not None and other is None else None
            if chosen is not None:
                yield LocalHazard(
                    call.id,
                    f"`{view.written(number)}` stands before `{view.written(tensor)}`, which is of any dtype: in a graph it becomes {own}",
                    f"`{view.written(chosen)}` is {own}: in a graph `{view.written(number)}` is",
                )
                break
            if own is None or other is None or own == other or (own == FLOAT32 and other in INTEGER):
                continue
            yield LocalHazard(
                call.id,
                f"`{view.written(number)}` stands before `{view.written(tensor)}`, which is {other}: eagerly it is converted to that, in a "
                f"graph it becomes {own}, which does not fit",
            )
            break


def _dtype_of_number(view: ContextView, number: OpId) -> DType | None:
    """The dtype that what certainly is no tensor gets in a graph; None for anything else."""
    display = view.op(view.behind_name(number))
    if isinstance(display, ops.BuildContainer) and display.elements:
        found = {_dtype_of_number(view, element.value) for element in display.elements if not element.starred}
        return found.pop() if len(found) == 1 else None
    alternatives = members(view.value(number))
    dtypes = {_made_of(member) for member in alternatives}
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
    """The dtype of what certainly is a tensor of TensorFlow."""
    alternatives = members(view.value(number))
    if not alternatives or not all(is_tensorflow_tensor(member) for member in alternatives):
        return None
    found = {member.type.dtype for member in alternatives if isinstance(member, TensorValue)}
    return found.pop() if len(found) == 1 else None


def _chosen_dtype(view: ContextView, number: OpId) -> OpId | None:
    """The dtype, known to callers only, to which a tensor is converted: such code is meant for several."""
    pending, seen = [number], {number}
    while pending:
        op = view.op(pending.pop())
        found: list[OpId | None] = []
        match op:
            case ops.LoadName(name=name):
                found = [store.value for store in view.code.stores.get(name, ()) if store.id < op.id]
            case ops.Binary(left=left, right=right):
                found = [left, right]
            case ops.Call():
                library = view.calls[op.id].library if op.id in view.calls else ()
                wanted = view.library_argument(op, library[0], "dtype") if len(library) == 1 else None
                if wanted is not None and library[0].startswith("tensorflow."):
                    if any(_is_open_dtype(each) for each in members(view.value(wanted))):
                        return wanted
            case _:
                pass
        new = [each for each in found if each is not None and each not in seen]
        pending.extend(new)
        seen.update(new)
    return None


def _is_open_dtype(value: Value) -> bool:
    """Whether it is a dtype of which nothing is known; what a parameter is taken for because it is given to `tf.cast` is one."""
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
    summary="A number that stands before a tensor gets its own dtype in a graph, and the tensor does not fit.",
    explanation=(
        "Eagerly `tf.maximum(1., x)` converts the number to the dtype of `x`. A graph converts one operand after the other: the number "
        "becomes float32 (int32 if it is an int, an array keeps its own), and the tensor behind it must have the same: `TypeError: Input "
        "'y' of 'Maximum' Op has type float64 that does not match type float32 of argument 'x'`. Where the tensor stands first, and with "
        "operators (`1. - x`), the number is converted in a graph as it is eagerly. It is reported where both dtypes are known."
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
