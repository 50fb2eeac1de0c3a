"""NumPy's objects that build arrays from their index: `np.mgrid[0:3, 0:4]`, `np.c_[a, b]`, `np.r_[a, 0, b]`; and
those that return the index: `np.s_[:5]`, `np.index_exp[:5]`.

Computes: the type of the array. Gives: `index_object`. Source: `numpy.lib.index_tricks`, NumPy 2. Ignores: string
directives (`np.r_["1,2,0", a]`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from terra_refactor.domain.dim import Dim, add
from terra_refactor.domain.dtype import FLOAT64, INT64, INTEGER, DType
from terra_refactor.domain.value import NONE, UNKNOWN, Constant, Scalar, SliceValue, TensorValue, TupleValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api.arrays import array, array_operand, promoted_strong


def index_object(name: str, index: Value) -> Value | None:
    """`numpy.mgrid[index]` and similar objects; None for others."""
    parts = index.elements if isinstance(index, TupleValue) else (index,)
    match name:
        case "numpy.mgrid":
            sizes, dtype = _axes(parts)
            if isinstance(index, TupleValue):
                return array(dtype, (len(parts), *sizes))
            return array(dtype, sizes)
        case "numpy.ogrid":
            sizes, dtype = _axes(parts)
            if not isinstance(index, TupleValue):
                return array(dtype, sizes)
            ranks = range(len(parts))
            return TupleValue(
                tuple(array(dtype, tuple(sizes[axis] if axis == own else 1 for axis in ranks)) for own in ranks)
            )
        case "numpy.r_":
            return _row(parts)
        case "numpy.c_":
            return _columns(parts)
        case "numpy.s_":
            return index
        case "numpy.index_exp":
            return TupleValue(parts)
        case _:
            return None


def _axes(parts: Sequence[Value]) -> tuple[tuple[Dim, ...], DType | None]:
    """The number of points of each slice, and the common dtype."""
    found = [_axis(part) for part in parts]
    dtypes = {dtype for _, dtype in found}
    dtype = None if None in dtypes else FLOAT64 if FLOAT64 in dtypes else INT64
    return tuple(size for size, _ in found), dtype


def _axis(part: Value) -> tuple[Dim, DType | None]:
    if not isinstance(part, SliceValue):
        return None, None
    if isinstance(part.step, Constant) and isinstance(part.step.value, complex):
        return int(abs(part.step.value)), FLOAT64
    bounds = (Constant(0) if part.lower == NONE else part.lower, part.upper)
    step = Constant(1) if part.step == NONE else part.step
    dtypes = {array_operand(bound).type.dtype for bound in (*bounds, step)}
    dtype = None if None in dtypes else INT64 if dtypes <= INTEGER else FLOAT64
    numbers = [bound.value for bound in (*bounds, step) if isinstance(bound, Constant)]
    if len(numbers) == 3 and all(isinstance(number, int | float) for number in numbers) and numbers[2]:
        low, high, width = (float(number) for number in numbers)  # type: ignore[arg-type]
        return max(0, math.ceil((high - low) / width)), dtype
    if numbers[:1] == [0] and step == Constant(1):
        return read.integer(part.upper), dtype
    return None, dtype


def _row(parts: Sequence[Value]) -> Value:
    """Concatenates arrays along the first axis; numbers and slices are arrays of their own."""
    total: Dim = 0
    dtypes: list[DType | None] = []
    for part in parts:
        if isinstance(part, SliceValue):
            size, dtype = _axis(part)
        elif isinstance(part, TensorValue | Constant | Scalar) and not isinstance(getattr(part, "value", None), str):
            shape, dtype = array_operand(part).type.shape, array_operand(part).type.dtype
            if shape is None or len(shape) > 1:
                return array(None, None)
            size = shape[0] if shape else 1
        else:
            return UNKNOWN
        total = add(total, size)
        dtypes.append(dtype)
    return array(promoted_strong(dtypes), (total,))


def _columns(parts: Sequence[Value]) -> Value:
    """Arrays of rank 1 as columns, next to matrices."""
    rows: Dim = None
    width: Dim = 0
    dtypes: list[DType | None] = []
    for part in parts:
        if not isinstance(part, TensorValue | Constant | Scalar) or isinstance(getattr(part, "value", None), str):
            return UNKNOWN
        shape = array_operand(part).type.shape
        if shape is None or len(shape) > 2:
            return array(None, None)
        rows = rows if rows is not None else shape[0] if shape else 1
        width = add(width, shape[1] if len(shape) == 2 else 1)
        dtypes.append(array_operand(part).type.dtype)
    return array(promoted_strong(dtypes), (rows, width))
