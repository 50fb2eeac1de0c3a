"""Shapes of reductions. Computes: the remaining axes. Source: `tf.reduce_sum`, `numpy.sum`."""

from __future__ import annotations

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.shape import Shape


def reduced_shape(
    shape: Shape, axes: tuple[int, ...] | None, keepdims: bool | None, *, everything: bool = False
) -> Shape:
    """The shape after reducing `axes` (from 0), or all axes if `everything`; None if the axes or `keepdims` are unknown."""
    if everything:
        if keepdims is False:
            return ()
        return None if keepdims is None or shape is None else (1,) * len(shape)
    if shape is None or keepdims is None:
        return None
    if axes is None:
        if not keepdims:
            return None
        unknown: Dim = None
        return tuple(1 if size == 1 else unknown for size in shape)
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)
