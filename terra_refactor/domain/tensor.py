"""The type of a tensor: element type and shape.

Computes: joins. Gives: `TensorType`, printed as `float32 (N, 28, 28, 1)` everywhere (hover, reports, golden files).
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.domain.dim import OpenDim, eager
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import Shape, format_shape, join_shapes


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape; each None where unknown."""

    dtype: DType | None = None
    shape: Shape = None

    def __str__(self) -> str:
        return f"{self.dtype or '?'} {format_shape(self.shape)}"

    def seen_eagerly(self) -> TensorType:
        """The type as eager code sees it."""
        shape = self.shape
        if shape is None or not any(type(dim) is OpenDim for dim in shape):
            return self
        return TensorType(self.dtype, tuple(map(eager, shape)))


UNKNOWN_TENSOR_TYPE = TensorType()


def join_tensor_types(left: TensorType, right: TensorType) -> TensorType:
    """Join of two tensor types."""
    if left == right:
        return left
    return TensorType(left.dtype if left.dtype == right.dtype else None, join_shapes(left.shape, right.shape))
