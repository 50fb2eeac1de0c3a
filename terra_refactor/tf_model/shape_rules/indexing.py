"""Sizes of slices and shapes of indexed arrays.

Computes: the number of elements that `start:stop:step` selects from an axis. Source: Python's slicing, which `tf.strided_slice` and NumPy
follow.

Approximates: `x[:-k]` and `x[k:]` of an axis of symbolic size `n` have size `n - k`, `x[j:-k]` has `n - k - j`:
correct if `n` is at least `k` and `j + k`; shorter axes are ignored. A bound computed from options is assumed to be
within the axis if it is with all defaults.
"""

from __future__ import annotations

from terra_refactor.domain.dim import (
    Dim,
    OpenDim,
    SymbolicDim,
    add,
    as_open,
    at_defaults,
    definitely_equal,
    eager,
    is_chosen,
    subtract,
)
from terra_refactor.domain.dtype import FLOATING
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    Constant,
    PythonType,
    Scalar,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.releases import REFUSES_FLOAT_INDEX
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def slice_size(size: Dim, start: Dim, stop: Dim, step: int | None, *, has_start: bool, has_stop: bool) -> Dim:
    """The size of `start:stop:step` of an axis of size `size`; `has_start` and `has_stop` distinguish an absent bound from an unknown
    one."""
    if any(isinstance(dim, OpenDim) for dim in (size, start, stop)):
        known = slice_size(eager(size), eager(start), eager(stop), step, has_start=has_start, has_stop=has_stop)
        return as_open(known, size, start, stop)
    if step is None or step == 0:
        return None
    if (has_start and start is None) or (has_stop and stop is None):
        return 0 if size == 0 else None
    if isinstance(size, int) and size < 0:
        return None  # the operation that created it has failed at run time
    if isinstance(size, int) and not isinstance(start, SymbolicDim) and not isinstance(stop, SymbolicDim):
        return len(range(*slice(start if has_start else None, stop if has_stop else None, step).indices(size)))
    if step == -1 and not has_start and not has_stop:
        return size
    if step != 1:
        return _strided_size(size, step) if not has_start and not has_stop else None
    low: Dim = start if has_start else 0
    if has_stop and isinstance(stop, int) and stop >= 0:
        # a constant bound may exceed an axis of unknown size: only an empty or negative window is certain
        return 0 if isinstance(low, int) and low >= stop and low >= 0 else None
    if has_stop and isinstance(low, int) and low < 0 and isinstance(stop, int) and stop < 0:
        return 0 if low >= stop else None
    high: Dim = size if not has_stop else add(size, stop) if isinstance(stop, int) else stop
    if not has_stop and isinstance(low, int) and low < 0:
        return None
    if size is None or high is None or low is None:
        return None
    if not isinstance(stop, int) and not definitely_equal(high, size) and not _is_usually_within(high, size):
        return None
    if isinstance(low, SymbolicDim):
        if definitely_equal(low, size) and not has_stop:
            return 0
        return subtract(high, low) if _is_usually_within(low, high) else None
    return subtract(high, low)


def _is_usually_within(bound: Dim, size: Dim) -> bool:
    """Whether a bound computed from options is no larger than the axis in the run with all defaults."""
    one, other = at_defaults(bound), at_defaults(size)
    return is_chosen(bound) and one is not None and other is not None and 0 <= one <= other


def _strided_size(size: Dim, step: int) -> Dim:
    return size if step in (1, -1) else None


def refuse_float_index(index: Value) -> None:
    """Raises OperationError if an index of an array, tensor or sequence, or a bound of its slices, is a float."""
    for part in index.elements if isinstance(index, TupleValue) else (index,):
        bounds = (part.lower, part.upper, part.step) if isinstance(part, SliceValue) else (part,)
        if any(_is_float(bound) for bound in bounds):
            what = "a bound of a slice" if isinstance(part, SliceValue) else "an index"
            raise OperationError(ErrorKind.DTYPE, f"{what} is a float, not an integer", ("index",), REFUSES_FLOAT_INDEX)


def _is_float(value: Value) -> bool:
    match value:
        case Constant(float()) | Scalar(PythonType.FLOAT):
            return True
        case TensorValue(TensorType(dtype, ()), TensorKind.NUMPY_SCALAR):
            return dtype in FLOATING
        case _:
            return False
