"""Rules that join and split tensors: concat, stack, unstack, split.

Computes: sizes along the joined axis by exact or symbolic addition; contents of small integer tensors are kept. Gives: `JOINING`,
which `array` merges into its rules. Source: `tf.concat`, `tf.stack`, `tf.unstack`, `tf.split`, TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import (
    Dim,
    definitely_different,
    divide_exactly,
    format_dim,
    subtract,
)
from terra_refactor.domain.dtype import INT32, INT64, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import content_with_marks, whole_content_roots
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenList,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import elements, integer, integers
from terra_refactor.tf_model.ops.conversion import Operand, operand, size_value
from terra_refactor.tf_model.ops.ragged import joining_rows
from terra_refactor.tf_model.ops.results import argument, call_name, normal_axis, primary, result, table
from terra_refactor.tf_model.shape_rules.reshaping import concatenated, stacked
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _item_operands(values: Value | None) -> list[Operand] | None:
    """The tensors of a list argument; None if their number is unknown."""
    items = elements(values)
    if items is not None:
        return [_with_marks(operand(item), item) for item in items]
    if isinstance(values, TensorValue) and values.type.shape:
        count = values.type.shape[0]
        if isinstance(count, int) and count <= 64:
            return [Operand(TensorType(values.type.dtype, values.type.shape[1:]), TensorKind.TENSOR)] * count
    return None


def _with_marks(part: Operand, item: Value) -> Operand:
    """An element of a list whose elements have their own marks for open sizes."""
    roots, shape = whole_content_roots(item), part.type.shape
    if not roots or part.type.dtype not in (INT32, INT64):
        return part
    content = part.content
    if content is None and shape and len(shape) == 1 and isinstance(shape[0], int) and shape[0] <= 64:
        content = TupleValue((size_value(None),) * shape[0])
    return replace(part, content=content_with_marks(content, roots)) if content is not None or shape == () else part


def _repeated(values: Value | None) -> Operand | None:
    """The type of the elements of a list of unknown length."""
    if isinstance(values, FrozenList | SequenceValue) and values.element is not None:
        return operand(values.element)
    return None


def list_dtype(call: BoundCall, parts: list[Operand], name: str = "values") -> DType | None:
    """The common dtype of tensors in a list. Raises OperationError if two tensors differ."""
    found: DType | None = None
    for part in parts:
        dtype = part.type.dtype
        if not part.is_tensor or dtype is None:
            continue
        if found is not None and dtype != found:
            raise OperationError(
                ErrorKind.DTYPE, f"{call_name(call)}: tensors of dtype {found} and {dtype} in one list", (name,)
            )
        found = dtype
    if found is not None:
        return found
    dtypes = {part.type.dtype for part in parts}
    return next(iter(dtypes)) if len(dtypes) == 1 else None


def _concat(call: BoundCall) -> Value:
    values, axis_value = call.argument("values"), argument(call, "axis", "concat_dim")
    if integer(values) is not None and axis_value is not None and elements(axis_value) is not None:
        # `tf.concat(axis, values)` of TensorFlow 0.12
        values, axis_value = axis_value, values
    axis = integer(axis_value)
    known_axis = axis if isinstance(axis, int) else None
    # a value that is not a list is one tensor
    parts = [operand(values)] if isinstance(values, TensorValue) else _item_operands(values)
    if parts is None:
        each = _repeated(values)
        if each is None or each.type.shape is None:
            return result(None if each is None else each.type.dtype)
        row = each.type.shape
        if known_axis is None or not row:
            return result(each.type.dtype, (None,) * len(row) if row else None)
        position = normal_axis(call, known_axis, row)
        return result(each.type.dtype, (*row[:position], None, *row[position + 1 :]))
    if not parts:
        return result(None)
    dtype = list_dtype(call, parts)
    if len(parts) == 1:
        # a single tensor is returned unchanged, whatever the axis
        return result(parts[0].type.dtype, parts[0].type.shape, parts[0].content)
    shape = concatenated([part.type.shape if part.known else None for part in parts], known_axis)
    content: Value | None = None
    if shape is not None and len(shape) == 1 and all(isinstance(part.content, TupleValue) for part in parts):
        content = TupleValue(
            tuple(item for part in parts if isinstance(part.content, TupleValue) for item in part.content.elements)
        )
    elif (
        shape is not None
        and len(shape) == 1
        and dtype in (INT32, INT64)
        and any(part.content is not None for part in parts)
    ):
        content = _partial_content(parts)
    return result(dtype, shape, content)


def _partial_content(parts: list[Operand]) -> Value | None:
    """The content of vectors, some of which have unknown content but a known length."""
    items: list[Value] = []
    for part in parts:
        if isinstance(part.content, TupleValue):
            items.extend(part.content.elements)
        elif part.type.shape is not None and len(part.type.shape) == 1 and isinstance(part.type.shape[0], int):
            items.extend(size_value(None) for _ in range(min(part.type.shape[0], 64)))
        else:
            return None
    return TupleValue(tuple(items))


def _stack(call: BoundCall) -> Value:
    values = call.argument("values")
    axis = integer(call.argument("axis"))
    known_axis = axis if isinstance(axis, int) else None
    parts = _item_operands(values)
    if parts is None:
        each = _repeated(values)
        if each is None:
            data = operand(values)
            if data.is_tensor and data.type.shape and known_axis == 0:
                return result(data.type.dtype, data.type.shape)
            return result(data.type.dtype)
        return result(operand(values).type.dtype, stacked([each.type.shape], None, known_axis))
    if not parts:
        return result(None)
    shape = stacked([part.type.shape if part.known else None for part in parts], len(parts), known_axis)
    contents = [part.content for part in parts]
    dtype = list_dtype(call, parts) if any(part.is_tensor for part in parts) else operand(values).type.dtype
    content: Value | None = None
    if shape is not None and len(shape) == 1 and dtype in (INT32, INT64) and any(item is not None for item in contents):
        content = TupleValue(tuple(size_value(None) if item is None else item for item in contents))
    return result(dtype, shape, content)


def _unstack(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    count = integer(call.argument("num"))
    axis = integer(call.argument("axis"))
    row: Shape = None
    if shape is not None and isinstance(axis, int):
        if not shape:
            raise OperationError(ErrorKind.RANK, "unstack: a number (shape ()) has no axis to take apart", ("value",))
        position = normal_axis(call, axis, shape)
        row = (*shape[:position], *shape[position + 1 :])
        if count is not None and definitely_different(count, shape[position]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"unstack: num is {format_dim(count)}, axis {position} of shape {format_shape(shape)} has {format_dim(shape[position])}",
                ("value", "num"),
            )
        if count is None:
            count = shape[position]
    if isinstance(count, int) and count <= 64:
        items = data.content.elements if isinstance(data.content, TupleValue) and row == () else None
        return FrozenList(
            tuple(
                result(data.type.dtype, row, items[number] if items is not None and number < len(items) else None)
                for number in range(count)
            )
        )
    return FrozenList(None, result(data.type.dtype, row))


def _split(call: BoundCall) -> Value:
    data, axis_value = primary(call), argument(call, "axis", "split_dim")
    if isinstance(axis_value, TensorValue) and axis_value.type.shape != () and data.type.shape == ():
        # `tf.split(axis, number, value)` of TensorFlow 0.12
        data, axis_value = operand(axis_value), call.argument("value")
    shape = data.type.shape
    axis = integer(axis_value)
    wanted = call.argument("num_or_size_splits")
    sizes = None if isinstance(wanted, Constant) else integers(wanted)
    count = integer(wanted)
    if shape is None or not isinstance(axis, int):
        number = len(sizes) if sizes is not None else count
        each = result(data.type.dtype, None if shape is None else (None,) * len(shape))
        return FrozenList((each,) * number) if isinstance(number, int) and number <= 64 else FrozenList(None, each)
    position = normal_axis(call, axis, shape)
    size = shape[position]

    def part(length: Dim) -> Value:
        return result(data.type.dtype, (*shape[:position], length, *shape[position + 1 :]))

    if sizes is not None:
        return FrozenList(tuple(part(length) for length in _split_sizes(shape, position, sizes)))
    if not isinstance(count, int):
        return FrozenList(None, part(None))
    if count <= 0:
        return UNKNOWN
    if isinstance(size, int) and size % count:
        raise OperationError(
            ErrorKind.SHAPE,
            f"split: axis {position} of shape {format_shape(shape)} has size {size}, which is not a multiple of {count}",
            ("value", "num_or_size_splits"),
        )
    share = part(divide_exactly(size, count))
    return FrozenList((share,) * count) if count <= 64 else FrozenList(None, share)


def _split_sizes(shape: tuple[Dim, ...], position: int, sizes: tuple[Dim, ...]) -> tuple[Dim, ...]:
    size = shape[position]
    rest: Dim = size
    for length in sizes:
        if length != -1:
            rest = subtract(rest, length)
    missing = sizes.count(-1)
    if (missing == 0 and definitely_different(rest, 0)) or (isinstance(rest, int) and rest < 0):
        listed = ", ".join(format_dim(length) for length in sizes)
        raise OperationError(
            ErrorKind.SHAPE,
            f"split: axis {position} of shape {format_shape(shape)} has size {format_dim(size)}, the parts are [{listed}]",
            ("value", "num_or_size_splits"),
        )
    return tuple(rest if length == -1 else length for length in sizes)


JOINING: Final[Mapping[str, OperationRule]] = {"tensorflow.concat": joining_rows(_concat)} | table(
    {"stack": _stack, "unstack": _unstack, "split": _split}
)
