"""Shapes of operations that move, merge or slice axes: reshape, concat, stack, gather, slice. Pure functions over
shapes.

Source: `tf.reshape`, `tf.concat`, `tf.stack`, `tf.gather`, `tf.gather_nd`.
"""

from __future__ import annotations

from collections.abc import Sequence

from terra_refactor.domain.dim import Dim, SymbolicDim, add, definitely_different, divide_exactly, format_dim
from terra_refactor.domain.shape import Shape, element_count, format_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def reshaped(shape: Shape, wanted: tuple[Dim, ...] | None) -> Shape:
    """The shape of `tf.reshape`; -1 or an unknown size in `wanted` follows from the number of elements if only one is
    missing.

    Raises OperationError if the number of elements certainly differs.
    """
    if wanted is None:
        return None
    missing = [axis for axis, size in enumerate(wanted) if size is None or size == -1]
    target: tuple[Dim, ...] = tuple(None if size == -1 else size for size in wanted)
    rest = element_count(tuple(size for size in target if size is not None))
    if shape is None:
        return target
    total = element_count(shape)
    if not missing:
        if definitely_different(total, rest) or _not_divisible(rest, _known_factor(shape)):
            raise _reshape_error(shape, wanted, total, rest)
        return target
    if _not_divisible(total, _known_factor(target)):
        raise _reshape_error(shape, wanted, total, rest)
    if len(missing) == 1 and rest != 0:
        size = divide_exactly(total, rest)
        return (*target[: missing[0]], size, *target[missing[0] + 1 :])
    return target


def _known_factor(shape: tuple[Dim, ...]) -> int:
    """The product of the known sizes."""
    product = 1
    for size in shape:
        if isinstance(size, int):
            product *= size
    return product


def _not_divisible(total: Dim, factor: int) -> bool:
    return isinstance(total, int) and factor > 0 and total % factor != 0


def _reshape_error(shape: tuple[Dim, ...], wanted: tuple[Dim, ...], total: Dim, rest: Dim) -> OperationError:
    return OperationError(
        ErrorKind.SHAPE,
        f"reshape: a tensor of shape {format_shape(shape)} ({format_dim(total)} elements) cannot have shape {format_shape(wanted)} "
        f"(a multiple of {format_dim(rest)} elements)"
        if -1 in wanted
        else f"reshape: a tensor of shape {format_shape(shape)} ({format_dim(total)} elements) cannot have shape {format_shape(wanted)} "
        f"({format_dim(rest)} elements)",
        ("tensor", "shape"),
    )


def concatenated(shapes: Sequence[Shape], axis: int | None, what: str = "concat", name: str = "values") -> Shape:
    """The shape of a concatenation along `axis` (None if unknown).

    Raises OperationError if ranks, or sizes of another axis, certainly differ, or there is no such axis.
    """
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    first = known[0]
    for shape in known[1:]:
        if len(shape) != len(first):
            raise OperationError(
                ErrorKind.RANK,
                f"{what}: shapes {format_shape(first)} and {format_shape(shape)} differ in rank",
                (name,),
            )
    if not first:
        raise OperationError(ErrorKind.RANK, f"{what}: numbers (shape ()) have no axis to join along", (name,))
    if axis is None:
        return (None,) * len(first)
    if not -len(first) <= axis < len(first):
        raise OperationError(
            ErrorKind.RANK, f"{what}: axis {axis} does not exist in shape {format_shape(first)}", ("axis",)
        )
    axis %= len(first)
    sizes: list[Dim] = []
    for position in range(len(first)):
        column = [shape[position] for shape in known]
        if position == axis:
            total: Dim = 0
            for size in column:
                total = add(total, size)
            sizes.append(total if len(known) == len(shapes) else None)
            continue
        sizes.append(_agreed(column, known, position, what, name))
    return tuple(sizes)


def _agreed(column: Sequence[Dim], shapes: Sequence[tuple[Dim, ...]], position: int, what: str, name: str) -> Dim:
    """The common size of an axis; the most precise one."""
    agreed, holder = column[0], shapes[0]
    for size, shape in zip(column[1:], shapes[1:], strict=True):
        if definitely_different(agreed, size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{what}: shapes {format_shape(holder)} and {format_shape(shape)} differ in axis {position}: {format_dim(agreed)} and "
                f"{format_dim(size)}",
                (name,),
            )
        if agreed is None or (isinstance(size, int) and isinstance(agreed, SymbolicDim)):
            agreed, holder = size, shape
    return agreed


def stacked(shapes: Sequence[Shape], count: Dim, axis: int | None, what: str = "stack") -> Shape:
    """The shape of tensors of equal shapes stacked along a new axis."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    for shape in known[1:]:
        if len(shape) != len(known[0]):
            raise OperationError(
                ErrorKind.RANK,
                f"{what}: shapes {format_shape(known[0])} and {format_shape(shape)} differ in rank",
                ("values",),
            )
    row = tuple(
        _agreed([shape[position] for shape in known], known, position, what, "values")
        for position in range(len(known[0]))
    )
    if axis is None:
        return (None,) * (len(row) + 1)
    if not -len(row) - 1 <= axis <= len(row):
        raise OperationError(
            ErrorKind.RANK, f"{what}: axis {axis} does not exist for elements of shape {format_shape(row)}", ("axis",)
        )
    axis %= len(row) + 1
    return (*row[:axis], count, *row[axis:])


def gathered(params: Shape, indices: Shape, axis: int | None, batch_dims: int | None) -> Shape:
    """The shape of `tf.gather`. Raises OperationError if there is no such axis or the batch axes certainly differ."""
    if params is None or indices is None or batch_dims is None:
        return None
    if not params:
        raise OperationError(
            ErrorKind.RANK, "gather: params is a number (shape ()), which has no axis to take from", ("params",)
        )
    if axis is None:
        return None
    if not -len(params) <= axis < len(params):
        raise OperationError(
            ErrorKind.RANK, f"gather: axis {axis} does not exist in params of shape {format_shape(params)}", ("axis",)
        )
    axis %= len(params)
    batch = batch_dims + len(indices) if batch_dims < 0 else batch_dims
    if batch > min(len(indices), axis) or batch < 0:
        return None
    for position in range(batch):
        if definitely_different(params[position], indices[position]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"gather: params of shape {format_shape(params)} and indices of shape {format_shape(indices)} differ "
                f"in batch axis {position}: {format_dim(params[position])} and {format_dim(indices[position])}",
                ("params", "indices"),
            )
    return (*params[:axis], *indices[batch:], *params[axis + 1 :])


def gathered_nd(params: Shape, indices: Shape, batch_dims: int | None) -> Shape:
    """The shape of `tf.gather_nd`. Raises OperationError if an index is longer than params has axes."""
    if params is None or indices is None or batch_dims is None:
        return None
    if not indices:
        raise OperationError(
            ErrorKind.RANK, "gather_nd: indices is a number (shape ()), but needs an axis of coordinates", ("indices",)
        )
    depth = indices[-1]
    if not isinstance(depth, int):
        return None
    if depth > len(params) - batch_dims:
        raise OperationError(
            ErrorKind.RANK,
            f"gather_nd: indices of shape {format_shape(indices)} have {depth} coordinates, params of shape {format_shape(params)} has "
            f"{len(params) - batch_dims} axes",
            ("params", "indices"),
        )
    return (*indices[:-1], *params[batch_dims + depth :])
