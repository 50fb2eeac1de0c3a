"""Varying indices of Python integers: `x[i]`, `x[i, j]`, `x[a:b]`, `v[i].assign(x)`; the numbers are an input of the
segment.

Computes: the start of an index on each axis, and its structure. Needs: a tensor of known shape. Gives: `varying`,
`TAKE`, `PUT`. Ignores: indices that may fail, tensors, arrays, None and negative steps, which are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from terra_refactor.runtime.tf_internals import Variable, int32, make_constant, tf
from terra_refactor.runtime.trie import Call

SHAPE_SIZE = 8  # no tensor has more axes
_NUMBERS = (int, np.int64, np.int32)
Pattern = tuple[tuple[int, ...], tuple[int, ...], int, int, tuple[int, ...]]


def varying(tensor: Any, index: Any) -> tuple[Any, Pattern] | None:
    """The start of the index (a tensor), and (extents, steps, mask of single elements, of the ellipsis, shape of the
    result).

    None if a number is out of range, the result is empty, or the index has other parts: then it is a constant of the
    path.
    """
    parts = index if type(index) is tuple else (index,)
    rank = tensor.shape.rank
    if rank is None or not tensor.shape.is_fully_defined() or not any(map(_has_number, parts)):
        return None
    if tensor.dtype.is_integer and rank == 1 and tensor.shape[0] <= SHAPE_SIZE:
        return None  # a shape: shapes computed from it would depend on a value
    omitted = rank - sum(part is not Ellipsis for part in parts)
    if omitted < 0 or sum(part is Ellipsis for part in parts) > 1:
        return None
    sizes = iter(tensor.shape.as_list())
    begins, extents, steps = [], [], []
    shape: list[int] = []
    single = ellipsis = 0
    for position, part in enumerate(parts):
        begin, extent, step = 0, 1, 1
        if part is Ellipsis:
            ellipsis = 1 << position
            shape.extend(next(sizes) for _ in range(omitted))
        elif type(part) in _NUMBERS:
            size = next(sizes)
            if not -size <= part < size:
                return None
            begin = int(part) % size
            single |= 1 << position
        elif type(part) is slice and _of_numbers(part):
            if part.step is not None and part.step < 1:
                return None
            inside = range(*part.indices(next(sizes)))
            if not inside:
                return None
            begin, step, extent = inside.start, inside.step, inside[-1] - inside.start + 1
            shape.append(len(inside))
        else:
            return None
        begins.append(begin)
        extents.append(extent)
        steps.append(step)
    begin = make_constant(np.array(begins, np.int32))
    return begin, (tuple(extents), tuple(steps), single, ellipsis, (*shape, *sizes))


def _has_number(part: Any) -> bool:
    if type(part) is slice:
        return part.start is not None or part.stop is not None
    return type(part) in _NUMBERS


def _of_numbers(part: slice) -> bool:
    return all(each is None or type(each) in _NUMBERS for each in (part.start, part.stop, part.step))


def _bounds(begin: Any, pattern: Pattern) -> tuple[Any, Any, Any]:
    """Begin, end and strides in the form of the operations."""
    extents, steps, *_ = pattern
    return begin, begin + tf.constant(extents, int32), tf.constant(steps, int32)


def _take(tensor: Any, begin: Any, pattern: Pattern) -> Any:
    *_, single, ellipsis, shape = pattern
    value = tensor.value() if isinstance(tensor, Variable) else tensor
    result = tf.strided_slice(value, *_bounds(begin, pattern), shrink_axis_mask=single, ellipsis_mask=ellipsis)
    result.set_shape(shape)
    return result


def _put(variable: Any, begin: Any, pattern: Pattern, value: Any) -> Any:
    *_, single, ellipsis, _ = pattern
    return variable._strided_slice_assign(
        *_bounds(begin, pattern),
        value,
        name=None,
        begin_mask=0,
        end_mask=0,
        ellipsis_mask=ellipsis,
        new_axis_mask=0,
        shrink_axis_mask=single,
    )


# `varying` returns no index that fails; whether a value fits a slice depends only on their shapes
TAKE = Call("a varying index", _take, _take, _take, trusted=True)
PUT = Call("an assignment to a varying index", _put, _put, _put, trusted=True)
