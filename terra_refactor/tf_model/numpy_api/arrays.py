"""Conversions of arguments by NumPy functions: arrays, Python numbers (which are weakly typed), and results.

Computes: operand types and promotions. Gives: `ArrayOperand`, `array_operand`, `promoted`, `array_result` and `array`, `content_of`.

Source: `numpy.asarray`, `numpy.result_type`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT8,
    INT16,
    INT64,
    INTEGER,
    UINT8,
    UINT16,
    UINT64,
    UNSIGNED,
    DType,
)
from terra_refactor.domain.shape import BroadcastError, Shape, broadcast, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    Constant,
    FrozenList,
    PythonType,
    RangeValue,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_dtypes import NumpyOperand, numpy_common
from terra_refactor.tf_model.numpy_operators import numpy_operand
from terra_refactor.tf_model.ops.conversion import CONTENT_LIMIT, size_value
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError


@dataclass(frozen=True, slots=True)
class ArrayOperand:
    """One argument as an array, with the properties by which NumPy chooses a dtype."""

    type: TensorType
    choice: NumpyOperand


def array_operand(value: Value | None) -> ArrayOperand:
    """An argument as an array; parts may be unknown."""
    return ArrayOperand(read.converted_type(value, numpy=True), numpy_operand(value))


def promoted(operands: Sequence[ArrayOperand]) -> DType | None:
    """The common dtype; None if it is unknown, or differs between versions of NumPy."""
    return numpy_common([item.choice for item in operands])


def promoted_strong(dtypes: Sequence[DType | None]) -> DType | None:
    """The common dtype of arrays that have axes."""
    return numpy_common([NumpyOperand(dtype) for dtype in dtypes])


def array_result(dtype: DType | None, shape: Shape) -> TensorValue:
    """The result of a ufunc or reduction: a NumPy scalar if it has rank 0."""
    return TensorValue(TensorType(dtype, shape), TensorKind.NUMPY_SCALAR if shape == () else TensorKind.NDARRAY)


def array(dtype: DType | None, shape: Shape, content: Value | None = None) -> TensorValue:
    """An ndarray, also of rank 0."""
    return TensorValue(TensorType(dtype, shape), TensorKind.NDARRAY, content)


def float_dtype(dtype: DType | None) -> DType | None:
    """The dtype in which `numpy.exp` and similar functions compute."""
    if dtype in (BOOL, INT8, UINT8):
        return FLOAT16
    if dtype in (INT16, UINT16):
        return FLOAT32
    if dtype in INTEGER:
        return FLOAT64
    return dtype


def mean_dtype(dtype: DType | None) -> DType | None:
    """The dtype of a mean: float64 for integers and bools."""
    return FLOAT64 if dtype in INTEGER or dtype == BOOL else dtype


def sum_dtype(dtype: DType | None) -> DType | None:
    """The dtype of a sum: integers are summed in 64 bits."""
    if dtype in UNSIGNED:
        return UINT64
    return INT64 if dtype in INTEGER or dtype == BOOL else dtype


def numeric_or_none(dtype: DType | None) -> DType | None:
    """The dtype if it is numeric or bool."""
    return dtype if dtype in FLOATING or dtype in INTEGER or dtype in (BOOL, COMPLEX64, COMPLEX128) else None


def broadcast_all(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape of an element-wise operation. Raises OperationError if the shapes certainly cannot be broadcast."""
    shape: Shape = ()
    for other in shapes:
        try:
            shape = broadcast(shape, other)
        except BroadcastError as error:
            raise OperationError(
                ErrorKind.SHAPE,
                f"{name}: {format_shape(shape)} and {format_shape(other)} cannot be broadcast: {error}",
            ) from error
    return shape


def content_of(value: Value | None) -> Value | None:
    """The content of a small array of Python numbers, nested in tuples; None if unknown or large."""
    match value:
        case Constant(bool() | int() | float()):
            return value
        case Scalar(PythonType.INT | PythonType.FLOAT | PythonType.BOOL):
            return value
        case TensorValue(_, _, content):
            return content
        case TupleValue(items):
            return _contents(items)
        case FrozenList(items) if items is not None:
            return _contents(items)
        case ShapeValue(shape) if shape is not None:
            return TupleValue(tuple(size_value(dim) for dim in shape))
        case RangeValue():
            known = read.integers(value)
            return None if known is None else TupleValue(tuple(size_value(dim) for dim in known))
        case _:
            return None


def _contents(items: Sequence[Value]) -> Value | None:
    if len(items) > CONTENT_LIMIT:
        return None
    parts = [content_of(item) for item in items]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(items) or _count(known) > CONTENT_LIMIT:
        return None
    return TupleValue(known)


def _count(items: Sequence[Value]) -> int:
    return sum(_count(item.elements) if isinstance(item, TupleValue) else 1 for item in items)


def integer_content(value: Value | None) -> tuple[Dim, ...] | None:
    """The elements of a rank-1 integer array of known length, if they are known."""
    content = content_of(value)
    if not isinstance(content, TupleValue) or any(isinstance(item, TupleValue) for item in content.elements):
        return None
    if any(isinstance(item, Constant) and not isinstance(item.value, int) for item in content.elements):
        return None
    if any(isinstance(item, Scalar) and item.type is not PythonType.INT for item in content.elements):
        return None
    return tuple(read.integer(item) for item in content.elements)


def dtype_setting(call: BoundCall, default: DType | None) -> DType | None:
    """The `dtype` argument, or `default` if it is absent or None."""
    value = call.argument("dtype")
    return default if read.is_none(value) else read.dtype_argument(value)


INT: Final = INT64
"""NumPy's default integer type; `int32` on 32-bit systems and on Windows before NumPy 2 is ignored."""
