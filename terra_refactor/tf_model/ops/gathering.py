"""Rules for functions that read or write parts of tensors: gather, slice, boolean_mask, where, scatter.

Gives: `GATHERING`, which `array` merges into its rules. Source: `tf.gather`, `tf.where`, `tf.scatter_nd`, TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Truth, format_dim, subtract
from terra_refactor.domain.dtype import BOOL, FLOATING, INT64, DType
from terra_refactor.domain.shape import Shape, compatible, format_shape
from terra_refactor.domain.value import TupleValue, Value
from terra_refactor.tf_model.arguments import integer, integers, is_none, may_be_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.math import agreed_dtype
from terra_refactor.tf_model.ops.operators import masked_shape
from terra_refactor.tf_model.ops.ragged import by_ragged_numbers
from terra_refactor.tf_model.ops.results import call_name, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.reshaping import gathered, gathered_nd
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _gather(call: BoundCall) -> Value:
    params, indices = operand(call.argument("params")), operand(call.argument("indices"))
    if indices.is_tensor and (indices.type.dtype in FLOATING or indices.type.dtype in (BOOL, "string")):
        raise OperationError(
            ErrorKind.DTYPE, f"gather: indices have dtype {indices.type.dtype}, not an integer type", ("indices",)
        )
    batch = 0 if is_none(call.argument("batch_dims")) else integer(call.argument("batch_dims"))
    axis = batch if is_none(call.argument("axis")) else integer(call.argument("axis"))
    shape = gathered(
        params.type.shape,
        indices.type.shape if indices.known else None,
        axis if isinstance(axis, int) else None,
        batch if isinstance(batch, int) else None,
    )
    content: Value | None = None
    if isinstance(params.content, TupleValue) and shape == () and axis == 0:
        number = integer(indices.content)
        if isinstance(number, int) and 0 <= number < len(params.content.elements):
            content = params.content.elements[number]
    return result(params.type.dtype, shape, content)


def _gather_nd(call: BoundCall) -> Value:
    params, indices = operand(call.argument("params")), operand(call.argument("indices"))
    batch = 0 if is_none(call.argument("batch_dims")) else integer(call.argument("batch_dims"))
    return result(
        params.type.dtype, gathered_nd(params.type.shape, indices.type.shape, batch if isinstance(batch, int) else None)
    )


def _slice(call: BoundCall) -> Value:
    data = operand(call.argument("input_"))
    begin, size = integers(call.argument("begin")), integers(call.argument("size"))
    shape = data.type.shape
    for name, given in (("begin", begin), ("size", size)):
        if given is not None and shape is not None and len(given) != len(shape):
            raise OperationError(
                ErrorKind.RANK,
                f"slice: {name} names {len(given)} axes, shape {format_shape(shape)} has {len(shape)}",
                ("input_", name),
            )
    if begin is not None and size is not None and len(begin) != len(size):
        message = f"slice: begin names {len(begin)} axes, size names {len(size)}"
        raise OperationError(ErrorKind.RANK, message, ("begin", "size"))
    if size is None:
        rank = len(begin) if begin is not None else len(shape) if shape is not None else None
        return result(data.type.dtype, None if rank is None else (None,) * rank)
    sliced: list[Dim] = []
    for axis, length in enumerate(size):
        start = begin[axis] if begin is not None else None
        whole = shape[axis] if shape is not None else None
        if isinstance(start, int) and isinstance(whole, int):
            if start > whole or (isinstance(length, int) and length >= 0 and start + length > whole):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"slice: {start}:{start}+{format_dim(length)} lies outside of axis {axis} of shape {format_shape(shape)}",
                    ("input_", "begin", "size"),
                )
        sliced.append(subtract(whole, start) if length == -1 else length)
    return result(data.type.dtype, tuple(sliced))


def _boolean_mask(call: BoundCall) -> Value:
    data, mask = operand(call.argument("tensor")), operand(call.argument("mask"))
    axis_value = call.argument("axis")
    axis = 0 if is_none(axis_value) else integer(axis_value)
    if mask.type.shape == ():
        raise OperationError(ErrorKind.RANK, "boolean_mask: the mask is a number (shape ())", ("mask",))
    if not isinstance(axis, int) or axis < 0 or mask.type.shape is None:
        return result(data.type.dtype)
    return result(data.type.dtype, masked_shape(data.type.shape, mask.type.shape, axis))


def _where(call: BoundCall) -> Value:
    condition = operand(call.argument("condition"))
    first, second = call.argument("x"), call.argument("y")
    # both are given, or neither
    if (is_none(first) or is_none(second)) and may_be_none(first) and may_be_none(second):
        if call.incomplete:
            return result(None)
        shape = condition.type.shape
        return result(INT64, (None, None) if shape is None else (None, len(shape)))
    left, right = operand(first), operand(second)
    dtype = agreed_dtype(call, left, right, alone=False, names=("x", "y"))
    if condition.is_tensor and condition.type.dtype is not None and condition.type.dtype != BOOL:
        raise OperationError(
            ErrorKind.DTYPE, f"where: the condition has dtype {condition.type.dtype}, not bool", ("condition",)
        )
    if not (left.known and right.known and condition.known):
        return result(dtype)
    shape = broadcast_shapes(left.type.shape, right.type.shape, "where", ("x", "y"))
    shape = broadcast_shapes(condition.type.shape, shape, "where", ("condition", "x", "y"))
    return result(dtype, shape)


def _scatter_nd(call: BoundCall) -> Value:
    updates = operand(call.argument("updates"))
    indices = operand(call.argument("indices"))
    shape = shape_argument(call.argument("shape"))
    _check_updates(call, shape, indices.type.shape, updates.type.shape)
    return result(updates.type.dtype, shape)


def _tensor_scatter(call: BoundCall) -> Value:
    data, indices, updates = (operand(call.argument(name)) for name in ("tensor", "indices", "updates"))
    dtype = (
        _agreed(call, data.type.dtype, updates.type.dtype) if data.is_tensor and updates.is_tensor else data.type.dtype
    )
    _check_updates(call, data.type.shape, indices.type.shape, updates.type.shape)
    return result(dtype, data.type.shape)


def _agreed(call: BoundCall, left: DType | None, right: DType | None) -> DType | None:
    if left is not None and right is not None and left != right:
        raise OperationError(
            ErrorKind.DTYPE,
            f"{call_name(call)}: tensor has dtype {left}, updates {right}",
            ("tensor", "updates"),
        )
    return left or right


def _check_updates(call: BoundCall, shape: Shape, indices: Shape, updates: Shape) -> None:
    """Checks that updates have the shape of the indices without their last axis, followed by the remaining axes of the tensor."""
    if shape is None or indices is None or updates is None or not indices or not isinstance(indices[-1], int):
        return
    if indices[-1] > len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: indices of shape {format_shape(indices)} have {indices[-1]} coordinates, the tensor of shape "
            f"{format_shape(shape)} has {len(shape)} axes",
            ("indices",),
        )
    wanted = (*indices[:-1], *shape[indices[-1] :])
    if compatible(wanted, updates) is Truth.NO:
        raise OperationError(
            ErrorKind.SHAPE,
            f"{call_name(call)}: updates of shape {format_shape(updates)} instead of {format_shape(wanted)} (indices "
            f"{format_shape(indices)}, tensor {format_shape(shape)})",
            ("updates",),
        )


GATHERING: Final[Mapping[str, OperationRule]] = {
    "tensorflow.gather": by_ragged_numbers(_gather, "params", "indices")
} | table(
    {
        "gather_nd": _gather_nd,
        "slice": _slice,
        "boolean_mask": _boolean_mask,
        "where": _where,
        "scatter_nd": _scatter_nd,
        **{f"tensor_scatter_nd_{kind}": _tensor_scatter for kind in ("update", "add", "sub", "max", "min")},
    }
)
