"""Shapes of matrix products.

Computes: the shape of a batched matrix product with optionally transposed operands, and of NumPy's, which also
accepts vectors. Source: `tf.linalg.matmul`, `numpy.matmul`.
"""

from __future__ import annotations

from terra_refactor.domain.dim import definitely_different, format_dim
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def matmul_shape(
    left: Shape,
    right: Shape,
    *,
    transpose_left: bool = False,
    transpose_right: bool = False,
    what: str = "matmul",
    arguments: tuple[str, ...] = ("a", "b"),
) -> Shape:
    """The shape of `left @ right`: batch axes broadcast, last two axes multiplied.

    Raises OperationError if an operand has fewer than two axes, the inner sizes certainly differ, or the batch axes cannot be broadcast.
    """
    for operand, name in ((left, arguments[0]), (right, arguments[-1])):
        if operand is not None and len(operand) < 2:
            raise OperationError(
                ErrorKind.RANK,
                f"{what}: {name} has shape {format_shape(operand)}, but both operands need at least 2 axes "
                f"(shapes {format_shape(left)} and {format_shape(right)})",
                (name,),
            )
    if left is None or right is None:
        return None
    rows, inner_left = (left[-1], left[-2]) if transpose_left else (left[-2], left[-1])
    inner_right, columns = (right[-1], right[-2]) if transpose_right else (right[-2], right[-1])
    if definitely_different(inner_left, inner_right):
        axis_left = -2 if transpose_left else -1
        axis_right = -1 if transpose_right else -2
        raise OperationError(
            ErrorKind.SHAPE,
            f"{what}: shapes {format_shape(left)} and {format_shape(right)} do not match: axis {axis_left} of the first is "
            f"{format_dim(inner_left)}, axis {axis_right} of the second is {format_dim(inner_right)}",
            arguments,
        )
    batch = broadcast_shapes(left[:-2], right[:-2], f"{what}: batch axes", arguments)
    assert batch is not None
    return (*batch, rows, columns)


def array_matmul_shape(left: Shape, right: Shape, arguments: tuple[str, ...] = ("left", "right")) -> Shape:
    """The shape of `numpy.matmul`, in which a vector is treated as a row or a column."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise OperationError(
            ErrorKind.RANK,
            f"matmul: shapes {format_shape(left)} and {format_shape(right)}: a scalar is not a matrix",
            arguments,
        )
    wide_left = (1, *left) if len(left) == 1 else left
    wide_right = (*right, 1) if len(right) == 1 else right
    shape = matmul_shape(wide_left, wide_right, arguments=arguments)
    assert shape is not None
    if len(right) == 1:
        shape = shape[:-1]
    if len(left) == 1:
        shape = (*shape[:-1],) if len(right) == 1 else (*shape[:-2], shape[-1])
    return shape
