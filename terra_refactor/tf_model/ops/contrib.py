"""Rules for the functional layers of `tf.contrib.layers` and `tf.contrib.slim`.

Computes: output types. Gives: `RULES`. No catalogue lists these names, so arguments are bound by position or keyword
as written.

Ignores: defaults of stride and padding, which `slim.arg_scope` may change: if they are not given, sizes are unknown.

Source: TensorFlow 1.15, `tensorflow/contrib/layers/python/layers/layers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.shape import Shape, element_count, format_shape
from terra_refactor.domain.value import Value
from terra_refactor.tf_model.arguments import integer, is_none, method_argument, size_tuple, text
from terra_refactor.tf_model.ops.conversion import Operand, operand
from terra_refactor.tf_model.ops.results import dense_only, result
from terra_refactor.tf_model.shape_rules.windows import window_output
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _inputs(call: BoundCall) -> Operand:
    return operand(method_argument(call, "inputs", 0))


def _fully_connected(call: BoundCall) -> Value:
    data = _inputs(call)
    shape = data.type.shape
    if shape is not None and len(shape) < 2:
        raise OperationError(
            ErrorKind.RANK, f"fully_connected: inputs of shape {format_shape(shape)} need at least 2 axes", ("inputs",)
        )
    units = integer(method_argument(call, "num_outputs", 1))
    return result(data.type.dtype, None if shape is None else (*shape[:-1], units))


def _flatten(call: BoundCall) -> Value:
    data = _inputs(call)
    shape = data.type.shape
    return result(data.type.dtype, (shape[0], element_count(shape[1:])) if shape else (None, None))


def _same(call: BoundCall) -> Value:
    data = _inputs(call)
    return result(data.type.dtype, data.type.shape)


def _image(call: BoundCall, data: Operand) -> tuple[Dim, ...]:
    shape: Shape = data.type.shape
    if shape is not None and len(shape) != 4:
        raise OperationError(
            ErrorKind.RANK,
            f"{call.name.rpartition('.')[2]}: inputs of shape {format_shape(shape)} have rank {len(shape)}, not 4",
            ("inputs",),
        )
    return (None,) * 4 if shape is None else shape


def _windowed(call: BoundCall, position: int, *, pooling: bool) -> Value:
    data = _inputs(call)
    shape = _image(call, data)
    if not is_none(call.extra_keywords.get("data_format")):
        return result(data.type.dtype, (None,) * 4)
    window = size_tuple(method_argument(call, "kernel_size", position), 2)
    stride_value = method_argument(call, "stride", position + 1)
    padding_value = method_argument(call, "padding", position + 2)
    strides = (None, None) if stride_value is None else size_tuple(stride_value, 2)
    written = text(padding_value)
    padding = None if written is None else written.lower()
    sizes = [window_output(shape[axis + 1], window[axis], strides[axis], padding) for axis in (0, 1)]
    channels = shape[-1] if pooling else integer(method_argument(call, "num_outputs", 1))
    return result(data.type.dtype, (shape[0], *sizes, channels))


def _convolution(call: BoundCall) -> Value:
    return _windowed(call, 2, pooling=False)


def _pooling(call: BoundCall) -> Value:
    return _windowed(call, 1, pooling=True)


_LAYERS: Final[Mapping[str, OperationRule]] = {
    "fully_connected": _fully_connected,
    "linear": _fully_connected,
    "relu": _fully_connected,
    "flatten": _flatten,
    "dropout": _same,
    "batch_norm": _same,
    "layer_norm": _same,
    "conv2d": _convolution,
    "convolution2d": _convolution,
    "max_pool2d": _pooling,
    "avg_pool2d": _pooling,
}

RULES: Final[Mapping[str, OperationRule]] = {
    f"tensorflow.contrib.{module}.{name}": dense_only(rule)
    for module in ("layers", "slim")
    for name, rule in _LAYERS.items()
}
