"""Shapes of element-wise operations.

Computes: the broadcast of two or more shapes, with an error that names both shapes and the axis. Gives: `broadcast_shapes`.
Source: NumPy's broadcasting rule, which TensorFlow follows.
"""

from __future__ import annotations

from terra_refactor.domain.dim import Dim, format_dim
from terra_refactor.domain.shape import BroadcastError, Shape, broadcast, format_shape
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def broadcast_shapes(left: Shape, right: Shape, what: str, arguments: tuple[str, ...] = ("x", "y")) -> Shape:
    """The shape of an element-wise operation, named `what` in messages.

    Raises OperationError if the shapes certainly cannot be broadcast.
    """
    try:
        return broadcast(left, right)
    except BroadcastError:
        assert left is not None and right is not None
        raise OperationError(
            ErrorKind.SHAPE,
            f"{what}: shapes {format_shape(left)} and {format_shape(right)} cannot be broadcast{_where(left, right)}",
            arguments,
        ) from None


def _where(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> str:
    """` (axis -1: 3 and 4)`: the last axis that cannot be broadcast."""
    for axis in range(1, min(len(left), len(right)) + 1):
        try:
            broadcast((left[-axis],), (right[-axis],))
        except BroadcastError:
            return f" (axis {-axis}: {format_dim(left[-axis])} and {format_dim(right[-axis])})"
    return ""
