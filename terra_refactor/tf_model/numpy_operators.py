"""Python's operators with NumPy's semantics: arrays and NumPy scalars with each other, with Python numbers, and with lists.

Computes: dtype and shape of `left <op> right`, of comparisons, and of `array <op>= right`. Gives: `numpy_operand`, `numpy_operator`,
`numpy_comparison`, `numpy_in_place`, `numpy_unary`. None of the operands is a TensorFlow tensor. Source: NumPy 1.26 and 2. Results that
differ between the two are unknown.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.dim import definitely_different
from terra_refactor.domain.dtype import BOOL, COMPLEX, COMPLEX128, FLOAT64, FLOATING, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    Constant,
    FrozenList,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_dtypes import (
    NumpyOperand,
    NumpyRole,
    numpy_common,
    numpy_result,
    real_dtype,
    stays_in_kind,
)
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.matmul import array_matmul_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError

_OPERANDS: Final = ("left", "right")


def numpy_operand(value: Value | None) -> NumpyOperand:
    """The properties of a value that NumPy uses to choose a dtype."""
    given = read.converted_type(value, numpy=True)
    if read.is_number(value):
        number = value.value if isinstance(value, Constant) else None
        known = number if isinstance(number, int | float | complex) else None
        return NumpyOperand(given.dtype, NumpyRole.NUMBER, known)
    return NumpyOperand(given.dtype, NumpyRole.SCALAR if given.shape == () else NumpyRole.ARRAY)


def numpy_operator(op: str, left: Value, right: Value) -> Value:
    """`left <op> right`. Raises OperationError if it certainly fails."""
    if not _is_numeric(left) or not _is_numeric(right):
        return NOT_A_TENSOR
    if op == "*" and (_repeats(left, right) or _repeats(right, left)):
        return NOT_A_TENSOR
    operands = [numpy_operand(left), numpy_operand(right)]
    if _is_python_complex(left, operands[1]):
        return NOT_A_TENSOR
    dtype = numpy_common(operands, lambda dtype: numpy_result(op, dtype))
    if op == "**" and isinstance(left, TensorValue) and left.kind is TensorKind.NDARRAY and _shape_of(right) == ():
        # squares and roots of arrays are computed differently
        if operands[0].dtype == BOOL or (left.type.shape == () and dtype != operands[0].dtype):
            dtype = None
    return _result(dtype, _shape(op, left, right))


def numpy_comparison(op: str, left: Value, right: Value) -> Value:
    """`left <op> right` for `< <= > >= == !=`."""
    if NONE in (left, right) and op in ("==", "!="):
        array = left if isinstance(left, TensorValue) else right
        # older versions of NumPy compare a scalar with None as Python does
        return NOT_A_TENSOR if read.converted_type(array).shape in ((), None) else _result(BOOL, _shape_of(array))
    if not _is_numeric(left) or not _is_numeric(right):
        return NOT_A_TENSOR
    if _is_python_complex(left, numpy_operand(right)):
        return NOT_A_TENSOR
    return _result(BOOL, _shape(op, left, right))


def numpy_in_place(op: str, array: TensorValue, right: Value) -> Value:
    """`array <op>= right` for an array, which keeps its dtype and shape.

    Raises OperationError if the result certainly does not fit.
    """
    own = TensorValue(array.type, TensorKind.NDARRAY)
    found = numpy_operator(op, array, right)
    if array.type.shape is None:
        # a value without axes may be a scalar, which is rebound
        return own if isinstance(found, TensorValue) and found.type.dtype == array.type.dtype else NOT_A_TENSOR
    if isinstance(found, TensorValue):
        _check_fits(op, own, found)
    return own


def _check_fits(op: str, array: TensorValue, found: TensorValue) -> None:
    if not stays_in_kind(found.type.dtype, array.type.dtype):
        raise OperationError(
            ErrorKind.DTYPE,
            f"operator {op}=: a result of dtype {found.type.dtype} cannot be stored in an array of dtype {array.type.dtype}",
            _OPERANDS,
        )
    shape, made = array.type.shape, found.type.shape
    if shape is None or made is None or op == "@":
        return
    if len(made) > len(shape) or any(definitely_different(a, b) for a, b in zip(shape, made, strict=False)):
        raise OperationError(
            ErrorKind.SHAPE,
            f"operator {op}=: a result of shape {format_shape(made)} cannot be stored in an array of shape {format_shape(shape)}",
            _OPERANDS,
        )


def numpy_unary(op: str, value: TensorValue) -> Value:
    """`-value`, `+value`, `~value`, and `abs` for `abs(value)`. Raises OperationError if NumPy raises."""
    dtype = value.type.dtype
    if (op in ("-", "+") and dtype == BOOL) or (op == "~" and dtype in FLOATING | COMPLEX):
        raise OperationError(
            ErrorKind.DTYPE, f"operator {op}: not supported for NumPy arrays of dtype {dtype}", ("value",)
        )
    return _result(real_dtype(dtype) if op == "abs" else dtype, value.type.shape)


def _is_numeric(value: Value) -> bool:
    """Whether NumPy computes with it: an array, a number, or a list or tuple of such."""
    return isinstance(value, TensorValue | TupleValue | FrozenList | SequenceValue) or read.is_number(value)


def _is_python_complex(left: Value, right: NumpyOperand) -> bool:
    """Whether Python's complex numbers compute the result: a NumPy scalar on the right may also be a Python float."""
    is_complex = read.python_scalar_dtype(left, numpy=True) == COMPLEX128
    return is_complex and right.role is NumpyRole.SCALAR and right.dtype in (None, FLOAT64)


def _repeats(sequence: Value, count: Value) -> bool:
    """Whether `sequence * count` may repeat the sequence: a NumPy scalar counts as a Python int."""
    return (
        isinstance(sequence, TupleValue | FrozenList | SequenceValue)
        and isinstance(count, TensorValue)
        and (count.kind is TensorKind.NUMPY_SCALAR or count.type.shape is None)
    )


def _shape_of(value: Value) -> Shape:
    return read.converted_type(value, numpy=True).shape


def _shape(op: str, left: Value, right: Value) -> Shape:
    first, second = _shape_of(left), _shape_of(right)
    if op == "@":
        return array_matmul_shape(first, second, _OPERANDS)
    return broadcast_shapes(first, second, f"operator {op}", _OPERANDS)


def _result(dtype: DType | None, shape: Shape) -> TensorValue:
    return TensorValue(TensorType(dtype, shape), TensorKind.NUMPY_SCALAR if shape == () else TensorKind.NDARRAY)
