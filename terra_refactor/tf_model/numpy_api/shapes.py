"""Shapes of array functions that move, add, drop or join axes: pure functions of shapes, shared with `keras.ops`.

Computes: nothing about values. Gives: `reduced`, `expanded`, `squeezed`, `transposed`, `reshaped_array`,
`stacked_arrays`, `concatenated_arrays`, `tiled`, `repeated`, `dot`, `matrix_product`. Each raises OperationError if,
and only if, NumPy certainly raises.
"""

from __future__ import annotations

from collections.abc import Sequence

from terra_refactor.domain.dim import (
    Dim,
    Truth,
    add,
    definitely_different,
    definitely_equal,
    equal,
    floor_divide,
    format_dim,
    multiply,
)
from terra_refactor.domain.shape import Shape, element_count, format_shape
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.matmul import matmul_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def axis_error(name: str, axis: int, shape: Shape) -> OperationError:
    """The error for an axis that an array does not have."""
    return OperationError(ErrorKind.RANK, f"{name}: no axis {axis} in an array of shape {format_shape(shape)}")


def normal_array_axis(name: str, axis: int, shape: Sequence[Dim]) -> int:
    """The axis counted from the front. Raises OperationError if there is no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise axis_error(name, axis, tuple(shape))
    return axis % len(shape)


def reduced(name: str, shape: Shape, axes: tuple[int, ...] | None, keepdims: bool | None) -> Shape:
    """The shape after a reduction over `axes`, None for all of them."""
    if keepdims is None:
        return None
    if axes is None:
        if not keepdims:
            return ()
        return None if shape is None else (1,) * len(shape)
    if shape is None:
        return None
    if not shape and all(axis in (0, -1) for axis in axes):
        return ()  # NumPy accepts rank 0 as rank 1 here
    dropped = {normal_array_axis(name, axis, shape) for axis in axes}
    if keepdims:
        return tuple(1 if axis in dropped else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)


def expanded(name: str, shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape with new axes of size 1 at these positions of the result."""
    if shape is None:
        return None
    rank = len(shape) + len(axes)
    places: set[int] = set()
    for axis in axes:
        if not -rank <= axis < rank:
            raise axis_error(name, axis, shape)
        places.add(axis % rank)
    if len(places) < len(axes):
        return None
    rest = iter(shape)
    return tuple(1 if axis in places else next(rest) for axis in range(rank))


def squeezed(name: str, shape: Shape, axes: tuple[int, ...] | None) -> Shape:
    """The shape without axes of size 1: all of them, or the given ones."""
    if shape is None:
        return None
    if axes is None:
        return None if any(not isinstance(size, int) for size in shape) else tuple(size for size in shape if size != 1)
    if not shape and all(axis in (0, -1) for axis in axes):
        return ()
    dropped = {normal_array_axis(name, axis, shape) for axis in axes}
    for axis in dropped:
        if definitely_different(shape[axis], 1):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{name}: axis {axis} of {format_shape(shape)} has size {format_dim(shape[axis])}, not 1",
            )
    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)


def transposed(name: str, shape: Shape, order: tuple[Dim, ...] | None) -> Shape:
    """The shape with permuted axes, reversed if `order` is None."""
    if order is None:
        return None if shape is None else shape[::-1]
    if shape is None:
        return (None,) * len(order)
    if len(order) != len(shape):
        raise OperationError(
            ErrorKind.RANK, f"{name}: {len(order)} axes are named, but the array has shape {format_shape(shape)}"
        )
    return tuple(shape[normal_array_axis(name, axis, shape)] if isinstance(axis, int) else None for axis in order)


def reshaped_array(name: str, shape: Shape, target: tuple[Dim, ...]) -> Shape:
    """The shape after a reshape; -1 is the remaining size."""
    free = [axis for axis, size in enumerate(target) if size == -1]
    count = None if shape is None else element_count(shape)
    known = element_count([size for size in target if size != -1])
    message = f"{name}: an array of shape {format_shape(shape)} cannot take the shape {format_shape(target)}"
    if len(free) > 1:
        raise OperationError(ErrorKind.SHAPE, message)
    if not free:
        if equal(count, known) is Truth.NO:
            raise OperationError(ErrorKind.SHAPE, message)
        return _completed(count, target)
    if isinstance(count, int) and isinstance(known, int) and (known == 0 or count % known):
        raise OperationError(ErrorKind.SHAPE, message)
    rest = floor_divide(count, known)
    return tuple(rest if axis == free[0] else size for axis, size in enumerate(target))


def _completed(count: Dim, target: tuple[Dim, ...]) -> Shape:
    """Infers one unknown size from the others."""
    unknown = [axis for axis, size in enumerate(target) if size is None]
    if len(unknown) != 1 or count is None:
        return target
    rest = element_count([size for size in target if size is not None])
    if rest == 0:
        return target
    size = floor_divide(count, rest)
    return tuple(size if axis == unknown[0] else dim for axis, dim in enumerate(target))


def concatenated_arrays(name: str, shapes: Sequence[Shape], axis: int | None) -> Shape:
    """The shape of arrays joined along an existing axis; `axis` is None if unknown."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    first = known[0]
    if not first:
        raise OperationError(ErrorKind.RANK, f"{name}: arrays of rank 0 cannot be joined")
    for other in known[1:]:
        if len(other) != len(first):
            raise OperationError(
                ErrorKind.RANK, f"{name}: ranks differ: {format_shape(first)} and {format_shape(other)}"
            )
    if axis is None:
        return (None,) * len(first)
    place = normal_array_axis(name, axis, first)
    sizes: list[Dim] = list(first)
    for other in known[1:]:
        for position, size in enumerate(other):
            if position == place:
                continue
            if definitely_different(sizes[position], size):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{name} along axis {place}: axis {position} differs: {format_shape(first)} and {format_shape(other)}",
                )
            if sizes[position] is None or (isinstance(size, int) and not isinstance(sizes[position], int)):
                sizes[position] = size
    total: Dim = 0
    for shape in shapes:
        total = add(total, None if shape is None else shape[place])
    sizes[place] = total
    return tuple(sizes)


def stacked_arrays(name: str, shapes: Sequence[Shape], axis: int | None) -> Shape:
    """The shape of arrays of equal shape joined along a new axis."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    sizes: list[Dim] = list(known[0])
    for other in known[1:]:
        if len(other) != len(sizes) or any(definitely_different(a, b) for a, b in zip(sizes, other, strict=True)):
            kind = ErrorKind.RANK if len(other) != len(sizes) else ErrorKind.SHAPE
            raise OperationError(kind, f"{name}: shapes differ: {format_shape(known[0])} and {format_shape(other)}")
        sizes = [
            b if a is None or (isinstance(b, int) and not isinstance(a, int)) else a
            for a, b in zip(sizes, other, strict=True)
        ]
    if axis is None:
        return (None,) * (len(sizes) + 1)
    if not -len(sizes) - 1 <= axis <= len(sizes):
        raise axis_error(name, axis, tuple(sizes))
    place = axis % (len(sizes) + 1)
    return (*sizes[:place], len(shapes), *sizes[place:])


def tiled(shape: Shape, repeats: tuple[Dim, ...] | None) -> Shape:
    """The shape of an array repeated as a whole along its last axes."""
    if shape is None or repeats is None:
        return None
    rank = max(len(shape), len(repeats))
    wide = (1,) * (rank - len(shape)) + shape
    factors = (1,) * (rank - len(repeats)) + repeats
    return tuple(multiply(size, factor) for size, factor in zip(wide, factors, strict=True))


def matrix_product(name: str, left: Shape, right: Shape) -> Shape:
    """`numpy.matmul`: operands of rank 1 are a row or a column, whose axis is dropped again."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise OperationError(
            ErrorKind.RANK, f"{name}: {format_shape(left)} and {format_shape(right)}: rank 0 cannot be multiplied"
        )
    wide_left = (1, *left) if len(left) == 1 else left
    wide_right = (*right, 1) if len(right) == 1 else right
    shape = matmul_shape(wide_left, wide_right, what=name)
    assert shape is not None
    if len(left) == 1:
        shape = (*shape[:-2], shape[-1])
    return shape[:-1] if len(right) == 1 else shape


def dot(name: str, left: Shape, right: Shape) -> Shape:
    """`numpy.dot`: contracts the last axis of the first with the second to last of the second."""
    if left is None or right is None:
        return None
    if not left or not right:
        return (*left, *right)
    axis = -1 if len(right) == 1 else -2
    if definitely_different(left[-1], right[axis]):
        raise OperationError(
            ErrorKind.SHAPE,
            f"{name}: axis -1 of {format_shape(left)} and axis {axis} of {format_shape(right)} differ",
        )
    rest = right[:-1] if len(right) == 1 else (*right[:-2], right[-1])
    return (*left[:-1], *rest)


def split_sizes(name: str, size: Dim, sections: int) -> Dim:
    """The size of each of several equal parts. Raises OperationError if the parts cannot be equal."""
    if isinstance(size, int):
        if sections <= 0 or size % sections:
            raise OperationError(
                ErrorKind.SHAPE, f"{name}: {size} elements cannot be split into {sections} equal parts"
            )
        return size // sections
    return floor_divide(size, sections)


def same_sizes(left: Shape, right: Shape) -> bool:
    """True only if both shapes are known and equal in every run."""
    if left is None or right is None or len(left) != len(right):
        return False
    return all(definitely_equal(a, b) for a, b in zip(left, right, strict=True))


def elementwise(name: str, left: Shape, right: Shape) -> Shape:
    """The broadcast of two shapes."""
    return broadcast_shapes(left, right, name)
