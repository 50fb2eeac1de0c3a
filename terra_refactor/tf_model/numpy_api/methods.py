"""Attributes and methods of ndarrays and NumPy scalars that have no equivalent module function.

Computes: output types. Gives: `RULES`, `ATTRIBUTES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dtype import BOOL, INTEGER, STRING, DType
from terra_refactor.domain.shape import element_count
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    DTypeValue,
    FrozenList,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api.arrays import array, array_operand, array_result, content_of
from terra_refactor.tf_model.numpy_api.manipulation import RULES as FUNCTIONS
from terra_refactor.tf_model.numpy_dtypes import real_dtype
from terra_refactor.tf_model.ops.conversion import size_value
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _astype(call: BoundCall) -> Value:
    given = array_operand(call.receiver).type
    dtype = read.dtype_argument(call.argument("dtype"))
    if given.dtype == STRING and dtype != STRING:
        return UNKNOWN  # only strings of numbers
    content = content_of(call.receiver) if given.dtype in INTEGER and dtype in INTEGER else None
    outcome = array(dtype, given.shape, content) if not _is_scalar(call.receiver) else array_result(dtype, given.shape)
    return TensorValue(outcome.type, outcome.kind, content)


def _is_scalar(value: Value | None) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.NUMPY_SCALAR


def python_value(dtype: DType | None) -> Value:
    """The Python number that `item()` returns for an element of that dtype."""
    if dtype in INTEGER:
        return Scalar(PythonType.INT)
    if dtype == BOOL:
        return Scalar(PythonType.BOOL)
    if dtype == STRING or dtype is None:
        return UNKNOWN
    return Scalar(PythonType.COMPLEX if dtype.startswith("complex") else PythonType.FLOAT)


def _item(call: BoundCall) -> Value:
    source = call.receiver
    if isinstance(source, TensorValue) and source.type.shape == () and isinstance(source.content, Constant | Scalar):
        return source.content
    return python_value(array_operand(source).type.dtype)


def _tolist(call: BoundCall) -> Value:
    given = array_operand(call.receiver).type
    if given.shape is None:
        return UNKNOWN
    nested = python_value(given.dtype)
    for size in reversed(given.shape):
        nested = FrozenList((nested,) * size) if isinstance(size, int) and size <= 16 else FrozenList(None, nested)
    return nested


def _copy(call: BoundCall) -> Value:
    source = call.receiver
    return source if isinstance(source, TensorValue) else UNKNOWN


def _fill(call: BoundCall) -> Value:
    return NONE


def _bytes(call: BoundCall) -> Value:
    return Scalar(PythonType.BYTES)


RULES: Final[Mapping[str, OperationRule]] = {
    "numpy.ndarray.flatten": FUNCTIONS["numpy.ravel"],
    "numpy.generic.flatten": FUNCTIONS["numpy.ravel"],
    "numpy.generic.ravel": FUNCTIONS["numpy.ravel"],
    "numpy.generic.reshape": FUNCTIONS["numpy.reshape"],
    "numpy.generic.squeeze": FUNCTIONS["numpy.squeeze"],
    "numpy.ndarray.astype": _astype,
    "numpy.generic.astype": _astype,
    "numpy.ndarray.item": _item,
    "numpy.generic.item": _item,
    "numpy.ndarray.tolist": _tolist,
    "numpy.generic.tolist": _tolist,
    "numpy.ndarray.copy": _copy,
    "numpy.generic.copy": _copy,
    "numpy.ndarray.conj": _copy,
    "numpy.ndarray.fill": _fill,
    "numpy.ndarray.tobytes": _bytes,
}


def _attribute(read_type: Callable[[TensorValue], Value]) -> Callable[[Value], Value]:
    return lambda receiver: read_type(receiver) if isinstance(receiver, TensorValue) else UNKNOWN


def _shape_of(value: TensorValue) -> Value:
    shape = value.type.shape
    return UNKNOWN if shape is None else TupleValue(tuple(size_value(size) for size in shape))


ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    f"{owner}.{name}": rule
    for owner in ("numpy.ndarray", "numpy.generic")
    for name, rule in {
        "shape": _attribute(_shape_of),
        "dtype": _attribute(lambda value: DTypeValue(value.type.dtype)),
        "ndim": _attribute(
            lambda value: Scalar(PythonType.INT) if value.type.shape is None else Constant(len(value.type.shape))
        ),
        "size": _attribute(
            lambda value: (
                Scalar(PythonType.INT) if value.type.shape is None else size_value(element_count(value.type.shape))
            )
        ),
        "T": _attribute(
            lambda value: TensorValue(
                type(value.type)(value.type.dtype, None if value.type.shape is None else value.type.shape[::-1]),
                value.kind,
            )
        ),
        "real": _attribute(
            lambda value: TensorValue(type(value.type)(real_dtype(value.type.dtype), value.type.shape), value.kind)
        ),
        "imag": _attribute(
            lambda value: TensorValue(type(value.type)(real_dtype(value.type.dtype), value.type.shape), value.kind)
        ),
        "nbytes": _attribute(lambda value: Scalar(PythonType.INT)),
        "itemsize": _attribute(lambda value: Scalar(PythonType.INT)),
        "flat": _attribute(lambda value: UNKNOWN),
    }.items()
}
