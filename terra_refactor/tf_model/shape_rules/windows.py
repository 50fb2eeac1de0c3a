"""Output sizes of convolution and pooling windows.

Computes: the output size of one axis. Gives: `window_output`, `transposed_output`, `spatial_axes`.

Source: the comments on convolution in TensorFlow's `tf.nn` guide (SAME and VALID padding) and `keras.ops` output sizes.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.dim import Dim, add, ceil_divide, floor_divide, format_dim, multiply, subtract
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.tf_model.releases import KERAS, TENSORFLOW, Behaviour
from terra_refactor.tf_model.spec import ErrorKind, OperationError


def effective_window(size: Dim, dilation: Dim) -> Dim:
    """The extent of a dilated window: `dilation * (size - 1) + 1`."""
    return add(multiply(dilation, subtract(size, 1)), 1)


def window_output(size: Dim, window: Dim, stride: Dim, padding: str | None, dilation: Dim = 1) -> Dim:
    """The number of positions of a window along an axis.

    Args:
        size: length of the axis.
        window: length of the window.
        stride: distance between positions.
        padding: `valid`, `same`, `causal`, or None if unknown.
        dilation: distance between elements of the window.
    """
    if padding in ("same", "causal"):
        return ceil_divide(size, stride)
    if padding != "valid":
        return size if window == 1 and stride == 1 else None
    last = subtract(size, effective_window(window, dilation))
    if stride == 1:
        return add(last, 1)
    if isinstance(last, int) and isinstance(stride, int):
        return last // stride + 1 if stride > 0 else None
    if window == stride and dilation == 1:
        return floor_divide(size, stride)
    return add(floor_divide(last, stride), 1)


def transposed_output(
    size: Dim, window: Dim, stride: Dim, padding: str | None, output_padding: Dim, dilation: Dim
) -> Dim:
    """The length of an axis after a transposed convolution; `output_padding` is None if not given.

    Source: `keras.layers.Conv2DTranspose`, `tf.keras.backend` (`deconv_output_length`).
    """
    extent = effective_window(window, dilation)
    if size is None or stride is None or extent is None or not isinstance(extent, int) or not isinstance(stride, int):
        return None
    if padding == "same":
        if output_padding is None:
            return multiply(size, stride)
        return add(add(multiply(subtract(size, 1), stride), extent - 2 * (extent // 2)), output_padding)
    if padding == "valid":
        if output_padding is None:
            return add(multiply(size, stride), max(extent - stride, 0))
        return add(add(multiply(subtract(size, 1), stride), extent), output_padding)
    return None


def spatial_axes(rank: int, channels_first: bool) -> range:
    """The axes of an image-like tensor of that rank that are neither batch nor channels."""
    return range(2, rank) if channels_first else range(1, rank - 1)


LAYOUT: Final = Behaviour(
    KERAS,
    "2.4",
    "earlier versions of Keras read the order of the axes of images from their configuration",
    assumed=True,
)
"""The default `data_format` is `channels_last`."""
POOLS_FIT: Final = Behaviour(TENSORFLOW, "2.12", "a window that does not fit gives nothing", assumed=True)


def check_positive(
    operation: str, size: Dim, shape: Shape, axis: int, window: Dim, since: Behaviour | None = None
) -> None:
    """Raises OperationError if a window certainly does not fit its axis; with `since`, only those releases reject it."""
    if isinstance(size, int) and size <= 0:
        raise OperationError(
            ErrorKind.SHAPE,
            f"{operation}: a window of {format_dim(window)} does not fit axis {axis} of {format_shape(shape)}",
            ("inputs",),
            since,
        )
