"""Shapes of tensors.

Computes: joins and comparisons of shapes. Gives: `Shape`, a tuple of `Dim`, or None where not even the rank is known. Printed as
`(N, 28, 28, 1)`, with `?` for an unknown size and `(...)` for an unknown rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from terra_refactor.domain.dim import (
    Dim,
    OpenDim,
    Truth,
    Why,
    definitely_different,
    definitely_equal,
    eager,
    equal,
    format_dim,
    multiply,
    opened,
)

Shape: TypeAlias = tuple[Dim, ...] | None


def format_shape(shape: Shape) -> str:
    """`(N, 28, 28, 1)`, `()`, `(3,)` or `(...)`."""
    if shape is None:
        return "(...)"
    if len(shape) == 1:
        return f"({format_dim(shape[0])},)"
    return "(" + ", ".join(format_dim(dim) for dim in shape) + ")"


def join_dims(left: Dim, right: Dim) -> Dim:
    """Join of two sizes: open if one of them is."""
    if left == right:
        return left
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        size = eager(left)
        is_tensor = all(dim.is_tensor for dim in (left, right) if isinstance(dim, OpenDim))
        joined: Dim = size if size == eager(right) else None
        for dim in (left, right):
            if isinstance(dim, OpenDim):
                joined = opened(joined, dim.roots, dim.why, is_tensor=is_tensor)
        return joined
    return None


def open_axis(shape: Shape, axis: int, roots: int, why: Why) -> Shape:
    """The shape with one of its sizes open; unchanged if it has no such axis."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return shape
    axis %= len(shape)
    return (*shape[:axis], opened(shape[axis], roots, why), *shape[axis + 1 :])


def join_shapes(left: Shape, right: Shape) -> Shape:
    """Join of two shapes: None where ranks differ, unknown sizes where sizes differ."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(join_dims(a, b) for a, b in zip(left, right, strict=True))


def meet_shapes(left: Shape, right: Shape) -> Shape:
    """Meet of two shapes (for example after `set_shape`); the more precise size of each axis.

    If the two contradict each other, `left` is kept; the caller decides whether that is an error (`compatible`).
    """
    if left is None:
        return right
    if right is None or len(left) != len(right):
        return left
    return tuple(_meet_dims(a, b) for a, b in zip(left, right, strict=True))


def _meet_dims(left: Dim, right: Dim) -> Dim:
    if left is None:
        return right
    if isinstance(right, int) and not isinstance(left, int):
        return right
    if isinstance(left, OpenDim) and right is not None and not isinstance(right, OpenDim):
        return right
    return left


def compatible(left: Shape, right: Shape) -> Truth:
    """Whether one tensor may have both shapes: NO if the ranks or a size certainly differ, YES if all are certainly equal."""
    if left is None or right is None:
        return Truth.UNKNOWN
    if len(left) != len(right):
        return Truth.NO
    answers = [equal(a, b) for a, b in zip(left, right, strict=True)]
    if Truth.NO in answers:
        return Truth.NO
    return Truth.YES if all(answer is Truth.YES for answer in answers) else Truth.UNKNOWN


def element_count(dims: Iterable[Dim]) -> Dim:
    """The product of the sizes; None if one is unknown and none is 0."""
    product: Dim = 1
    for dim in dims:
        product = multiply(product, dim)
        if product is None:
            return 0 if any(rest == 0 for rest in dims) else None
    return product


class BroadcastError(ValueError):
    """Two shapes cannot be broadcast against each other."""


def broadcast(left: Shape, right: Shape) -> Shape:
    """The shape of an element-wise operation, by NumPy's rule.

    Raises BroadcastError if some axis certainly differs and neither side is 1.
    """
    if left is None or right is None:
        return None
    rank = max(len(left), len(right))
    wide_left = (1,) * (rank - len(left)) + left
    wide_right = (1,) * (rank - len(right)) + right
    return tuple(_broadcast_dims(a, b) for a, b in zip(wide_left, wide_right, strict=True))


def _broadcast_dims(left: Dim, right: Dim) -> Dim:
    if left == 1:
        return right
    if right == 1:
        return left
    if isinstance(left, OpenDim) or isinstance(right, OpenDim):
        # the result is static if one side's size is
        size = _broadcast_dims(eager(left), eager(right))
        if not isinstance(left, OpenDim) or not isinstance(right, OpenDim):
            return size
        both = opened(opened(None, left.roots, left.why), right.roots, right.why)
        assert isinstance(both, OpenDim)
        return opened(size, left.roots & right.roots, both.why)
    if definitely_equal(left, right):
        return left
    if isinstance(left, int) and isinstance(right, int):
        raise BroadcastError(f"{left} and {right}")
    if isinstance(left, int):
        # the other side is 1 or equal: the result has this size, unless the sizes certainly contradict
        if definitely_different(left, right) and definitely_different(1, right):
            raise BroadcastError(f"{left} and {format_dim(right)}")
        return left
    if isinstance(right, int):
        return _broadcast_dims(right, left)
    if definitely_different(left, right) and definitely_different(1, left) and definitely_different(1, right):
        raise BroadcastError(f"{format_dim(left)} and {format_dim(right)}")
    return None
