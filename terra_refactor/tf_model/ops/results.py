"""Common parts of most rules: operands as tensors, dtype checks, tensor results.

Gives: `primary` (the data argument of a call), `result`, `check_dtype`, `axes_of` (an `axis` argument, checked
against a rank), `dense_only` (for rules that do not handle ragged and sparse operands).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import integer, integers, is_none
from terra_refactor.tf_model.ops.conversion import Operand, operand
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_DATA_PARAMETERS: Final = (
    "x",
    "input",
    "input_tensor",
    "tensor",
    "features",
    "logits",
    "value",
    "values",
    "a",
    "matrix",
    "data",
    "inputs",
)


def argument(call: BoundCall, *names: str) -> Value | None:
    """The first argument under one of these names that exists and is not None."""
    for name in names:
        value = call.arguments.get(name)
        if value is None:
            value = call.extra_keywords.get(name)
        if value is not None and not is_none(value):
            return value
    return None


def primary(call: BoundCall) -> Operand:
    """The data argument of a call: its receiver, or the argument under one of the usual names."""
    if isinstance(call.receiver, TensorValue):
        return operand(call.receiver)
    return operand(argument(call, *_DATA_PARAMETERS))


def result(dtype: DType | None, shape: Shape = None, content: Value | None = None) -> TensorValue:
    """A tensor."""
    return TensorValue(TensorType(dtype, shape), content=content)


def call_name(call: BoundCall) -> str:
    """The name of a call in messages: `math.add`."""
    return call.name.removeprefix("tensorflow.").removeprefix("compat.v1.")


def check_dtype(call: BoundCall, dtype: DType | None, allowed: frozenset[DType], name: str = "x") -> None:
    """Raises OperationError if the dtype is known and not allowed."""
    if dtype is not None and dtype not in allowed:
        listed = ", ".join(sorted(allowed))
        raise OperationError(
            ErrorKind.DTYPE, f"{call_name(call)}: {name} has dtype {dtype}; allowed are {listed}", (name,)
        )


def normal_axis(call: BoundCall, axis: int, shape: tuple[Dim, ...], name: str = "axis", *, extra: int = 0) -> int:
    """A known axis counted from 0. Raises OperationError if there is no such axis; `extra` is 1 if the axis may be a new
    one.
    """
    rank = len(shape) + extra
    if not -rank <= axis < rank:
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: axis {axis} does not exist in shape {format_shape(shape)} of rank {len(shape)}",
            (name,),
        )
    return axis % rank


def axes_of(call: BoundCall, value: Value | None, shape: tuple[Dim, ...], name: str = "axis") -> tuple[int, ...] | None:
    """The axes of an `axis` argument (an int, or several), counted from 0; None if unknown."""
    single = integer(value)
    if isinstance(single, int):
        return (normal_axis(call, single, shape, name),)
    several = integers(value) if isinstance(value, TupleValue | FrozenList | TensorValue) else None
    if several is None or not all(isinstance(axis, int) for axis in several):
        return None
    return tuple(normal_axis(call, axis, shape, name) for axis in several if isinstance(axis, int))


def flag(value: Value | None, default: bool) -> bool | None:
    """A bool argument; `default` if it is absent or None, None if it is unknown."""
    if is_none(value):
        return default
    if isinstance(value, Constant) and isinstance(value.value, bool | int):
        return bool(value.value)
    return None


def _composite(value: Value | None) -> bool:
    match value:
        case TensorValue(kind=TensorKind.RAGGED | TensorKind.SPARSE):
            return True
        case TupleValue(items):
            return any(_composite(item) for item in items)
        case FrozenList(items, element):
            return _composite(element) or any(_composite(item) for item in items or ())
        case _:
            return False


def dense_only(rule: OperationRule) -> OperationRule:
    """The rule for tensors; with a ragged or sparse operand the result is unknown."""

    def guarded(call: BoundCall) -> Value:
        if _composite(call.receiver) or any(_composite(value) for value in call.arguments.values()):
            return UNKNOWN
        return rule(call)

    return guarded


def table(
    rules: Mapping[str, Callable[[BoundCall], Value]], *, prefix: str = "tensorflow."
) -> dict[str, OperationRule]:
    """Rules for tensors by full name, from names without their root."""
    return {prefix + name: dense_only(rule) for name, rule in rules.items()}
