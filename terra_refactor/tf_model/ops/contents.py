"""Arithmetic on the known contents of small tensors.

Computes: the content of `left <op> right`, of `-value`, and of a function of one number. Needs: contents as in
`TensorValue`. Gives: `content_result`, `negated_content`, `applied`.

How: integers may be symbolic sizes; floats are kept if all are known, and are rounded to their dtype. Rounding a
double-precision result of `+ - * /` to single precision gives the same as computing in single precision.

Ignores: contents of dtypes other than int32, int64, float32 and float64.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, floor_divide, multiply, negate, subtract
from terra_refactor.domain.dtype import FLOAT32, FLOAT64, INT32, INT64, DType
from terra_refactor.domain.value import Constant, PythonType, Scalar, TupleValue, Value
from terra_refactor.tf_model.ops.conversion import size_value, value_size

_DIM_OPERATORS: Final[Mapping[str, Callable[[Dim, Dim], Dim]]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "//": floor_divide,
}
_FLOAT_OPERATORS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_LARGEST_EXACT: Final = 2**53
"""Larger integers are not all representable as floats."""


def content_result(op: str, left: Value | None, right: Value | None, dtype: DType | None) -> Value | None:
    """The content of a result of that dtype from two known contents; None if it is not kept."""
    if left is None or right is None:
        return None
    if dtype in (FLOAT32, FLOAT64):
        of_floats = _FLOAT_OPERATORS.get(op)
        return (
            None
            if of_floats is None
            else _known(_zip_contents(lambda a, b: _float(of_floats, dtype, a, b), left, right))
        )
    if dtype not in (INT32, INT64):
        return None
    if op == "%":
        return _zip_contents(_remainder, left, right)
    function = _DIM_OPERATORS.get(op)
    if function is None:
        return None
    return _zip_contents(lambda a, b: size_value(function(value_size(a), value_size(b))), left, right)


def negated_content(content: Value | None, dtype: DType | None) -> Value | None:
    """The content of `-value`; None if it is not kept."""
    if content is None or dtype not in (INT32, INT64):
        return None
    return _map_content(lambda item: size_value(negate(value_size(item))), content)


def applied(function: Callable[[float], float], content: Value | None, dtype: DType | None) -> Value | None:
    """The content of a function of one float, in that dtype; None if it is not kept."""
    if content is None or dtype not in (FLOAT32, FLOAT64):
        return None
    return _known(_map_content(lambda item: _float(lambda a, _: function(a), dtype, item, item), content))


def _float(function: Callable[[float, float], float], dtype: DType | None, left: Value, right: Value) -> Value:
    operands = [_rounded(item.value, dtype) for item in (left, right) if isinstance(item, Constant)]
    if len(operands) < 2 or operands[0] is None or operands[1] is None:
        return Scalar(PythonType.FLOAT)
    try:
        result = _rounded(function(operands[0], operands[1]), dtype)
    except (ArithmeticError, ValueError):
        result = None
    return Scalar(PythonType.FLOAT) if result is None else Constant(result)


def _rounded(number: object, dtype: DType | None) -> float | None:
    """A number rounded to that float dtype; None if it is not one of the dtypes handled here."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if isinstance(number, int) and abs(number) > _LARGEST_EXACT:
        return None
    if not math.isfinite(number):
        return None
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0]) if dtype == FLOAT32 else float(number)
    except OverflowError:
        return None


def _known(content: Value | None) -> Value | None:
    """A content of floats if every element is known, otherwise None."""
    items = content.elements if isinstance(content, TupleValue) else (content,)
    if any(isinstance(item, TupleValue) for item in items):
        return content if all(_known(item) is not None for item in items) else None
    return content if all(isinstance(item, Constant) for item in items) else None


def _remainder(left: Value, right: Value) -> Value:
    a, b = value_size(left), value_size(right)
    return Constant(a % b) if isinstance(a, int) and isinstance(b, int) and b else Scalar(PythonType.INT)


def _map_content(function: Callable[[Value], Value], content: Value) -> Value:
    if isinstance(content, TupleValue):
        return TupleValue(tuple(_map_content(function, item) for item in content.elements))
    return function(content)


def _zip_contents(function: Callable[[Value, Value], Value], left: Value, right: Value) -> Value | None:
    """Element-wise, with broadcasting of numbers, and for vectors of the same length."""
    match left, right:
        case TupleValue(first), TupleValue(second):
            if len(first) != len(second) or any(isinstance(item, TupleValue) for item in (*first, *second)):
                return None
            return TupleValue(tuple(function(a, b) for a, b in zip(first, second, strict=True)))
        case TupleValue(), _:
            return _map_content(lambda item: function(item, right), left)
        case _, TupleValue():
            return _map_content(lambda item: function(left, item), right)
        case _:
            return function(left, right)
