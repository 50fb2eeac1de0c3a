"""Rules for ragged tensors.

Gives: `RULES`. Source: `tf.RaggedTensor`, `tf.ragged`, TensorFlow 2.21.

In a known shape, exactly the ragged axes have an unknown size, apart from the first axis: if an inner size of the
values is unknown, so is the shape. So the last axis without a size is the last ragged one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOATING, INT32, INT64, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import UNKNOWN, FrozenList, TensorKind, TensorValue, Value, members
from terra_refactor.tf_model.arguments import dtype_argument, elements, integer, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import dense_only, flag, result
from terra_refactor.tf_model.ops.row_partitions import check_rows
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def ragged(dtype: DType | None, shape: Shape = None) -> TensorValue:
    """A ragged tensor."""
    return TensorValue(TensorType(dtype, shape), TensorKind.RAGGED)


def _with_rows(outer: tuple[Dim, ...], inner: Shape) -> Shape:
    """The shape of flat values of shape `inner`, with the first axis replaced by these axes; None if an inner size is unknown."""
    return None if not inner or None in inner[1:] else (*outer, *inner[1:])


def _ragged_axes(shape: Shape) -> int:
    """The number of axes up to and including the last ragged one; 0 if unknown."""
    last = max((axis for axis, size in enumerate(shape or ()) if size is None), default=0)
    return last + 1 if last else 0


def _dense_or_ragged(dtype: DType | None, shape: tuple[Dim, ...]) -> TensorValue:
    """A ragged tensor, or a tensor if no axis after the first is ragged."""
    return ragged(dtype, shape) if None in shape[1:] else result(dtype, shape)


def flat_values_of(value: TensorValue) -> TensorValue:
    """`rt.flat_values`."""
    shape, axes = value.type.shape, _ragged_axes(value.type.shape)
    return result(value.type.dtype, (None, *shape[axes:]) if shape is not None and axes else None)


def inner_values_of(value: TensorValue) -> TensorValue | None:
    """`rt.values`: without the outermost rows; None if it is unknown whether the result is ragged."""
    shape = value.type.shape
    if shape is None or len(shape) < 2 or not _ragged_axes(shape):
        return None
    return _dense_or_ragged(value.type.dtype, (None, *shape[2:]))


def _receiver(call: BoundCall) -> TensorType:
    return call.receiver.type if isinstance(call.receiver, TensorValue) else TensorType()


def _from_rows(call: BoundCall) -> Value:
    values = operand(call.argument("values"))
    shape = values.type.shape
    check_rows(call, shape)
    rows: Dim = None
    for name, less in (("row_lengths", 0), ("row_splits", 1), ("row_starts", 0), ("row_limits", 0)):
        part = call.argument(name)
        if part is not None and not is_none(part):
            lengths = operand(part).type.shape
            if lengths and isinstance(lengths[0], int):
                rows = lengths[0] - less
            elif lengths and not less:
                rows = lengths[0]
    if values.kind is TensorKind.RAGGED:
        return ragged(values.type.dtype, None if not shape else (rows, None, *shape[1:]))
    return ragged(values.type.dtype, _with_rows((rows, None), shape))


def _from_tensor(call: BoundCall) -> Value:
    data = operand(call.argument("tensor"))
    rank = integer(call.argument("ragged_rank"))
    shape = data.type.shape
    if shape is None or not isinstance(rank, int):
        return ragged(data.type.dtype)
    return ragged(data.type.dtype, _with_rows((shape[0], *((None,) * rank)), shape[rank:]) if shape else None)


def _to_tensor(call: BoundCall) -> Value:
    data = _receiver(call)
    wanted = call.argument("shape")
    if not is_none(wanted):
        shape = shape_argument(wanted)
        if shape is not None and data.shape is not None and len(shape) == len(data.shape):
            # None leaves a size unchanged
            shape = tuple(own if size is None else size for size, own in zip(shape, data.shape, strict=True))
        return result(data.dtype, shape)
    return result(data.dtype, data.shape)


def _row_lengths(call: BoundCall) -> Value:
    shape = _receiver(call).shape
    axis = integer(call.argument("axis"))
    if axis == 1:
        return result(INT64, (shape[0] if shape else None,))
    if shape is None or not isinstance(axis, int) or not 1 < axis < len(shape):
        return ragged(INT64)
    return _dense_or_ragged(INT64, shape[:axis])


def _row_ids(call: BoundCall) -> Value:
    return result(INT64, (None,))


def _row_limits(call: BoundCall) -> Value:
    shape = _receiver(call).shape
    return result(INT64, (shape[0] if shape else None,))


def _count(call: BoundCall) -> Value:
    wanted = call.argument("out_type")
    return result(INT64 if is_none(wanted) else dtype_argument(wanted), ())


def _bounding_shape(call: BoundCall) -> Value:
    shape = _receiver(call).shape
    wanted = call.argument("out_type")
    dtype = INT64 if is_none(wanted) else dtype_argument(wanted)
    if not is_none(call.argument("axis")):
        return result(dtype, ())
    return result(dtype, (None if shape is None else len(shape),))


def _to_sparse(call: BoundCall) -> Value:
    data = _receiver(call)
    return TensorValue(TensorType(data.dtype, data.shape), TensorKind.SPARSE)


def _from_sparse(call: BoundCall) -> Value:
    data = operand(call.argument("st_input"))
    return ragged(data.type.dtype)


def _constant(call: BoundCall) -> Value:
    rows = call.argument("pylist")
    wanted = call.argument("dtype")
    depth, count, dtype = _nesting(rows)
    if not is_none(wanted):
        dtype = tensor_dtype(wanted)
    if depth is None or not is_none(call.argument("ragged_rank")) or not is_none(call.argument("inner_shape")):
        return ragged(dtype)
    if depth == 0:
        return result(dtype, ())
    if depth == 1:
        return result(dtype, (count,))
    return ragged(dtype, (count, *((None,) * (depth - 1))))


def _nesting(value: Value | None) -> tuple[int | None, Dim, DType | None]:
    """Depth, outer length and dtype of a nested list; the depth is None if it varies or is unknown."""
    items = elements(value)
    if items == ():
        # an empty row is no evidence about the content of the others
        return 1, 0, None
    if items is None:
        if isinstance(value, FrozenList):
            return _nesting_of_each(value)
        part = operand(value)
        return (0 if part.weak and part.type.shape == () else None), None, part.type.dtype
    parts = [_nesting(item) for item in items]
    depths = {depth for depth, _, _ in parts if depth is not None}
    dtypes = {dtype for _, _, dtype in parts if dtype is not None}
    known = len(depths) == 1 and all(depth is not None for depth, _, _ in parts)
    return (next(iter(depths)) + 1 if known else None), len(items), next(iter(dtypes)) if len(dtypes) == 1 else None


def _nesting_of_each(rows: FrozenList) -> tuple[int | None, Dim, DType | None]:
    """The same for a list of an unknown number of elements: a list of numbers has depth 1, also without any; a list of
    rows needs one row.
    """
    parts = [] if rows.element is None else [_nesting(part) for part in members(rows.element)]
    depths, dtypes = {depth for depth, _, _ in parts}, {dtype for _, _, dtype in parts}
    depth = next(iter(depths)) if len(depths) == 1 else None
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
    is_certain = depth == 0 or (isinstance(rows.length, int) and rows.length > 0)
    return (None if depth is None or not is_certain else depth + 1), rows.length, dtype


def _masked(call: BoundCall) -> Value:
    """`tf.ragged.boolean_mask(data, mask)`: selects rows by a vector, or elements of each row by a mask of higher rank."""
    data, mask = operand(call.argument("data")), operand(call.argument("mask"))
    shape, wanted = data.type.shape, mask.type.shape
    if not shape or not wanted or len(wanted) > len(shape):
        return ragged(data.type.dtype)
    is_ragged = isinstance(call.argument("data"), TensorValue) and data.kind is TensorKind.RAGGED
    if len(wanted) == 1:
        made = (None, *shape[1:])
        return ragged(data.type.dtype, made) if is_ragged else result(data.type.dtype, made)
    inner = shape[len(wanted) :]
    if not is_ragged and None in inner:
        return ragged(data.type.dtype)
    return ragged(data.type.dtype, (shape[0], *((None,) * (len(wanted) - 1)), *inner))


def _range(call: BoundCall) -> Value:
    wanted = call.argument("dtype")
    dtype = operand(call.argument("starts")).type.dtype if is_none(wanted) else tensor_dtype(wanted)
    return ragged(dtype if dtype in (INT32, INT64) else None)


def _merged(call: BoundCall) -> Value:
    data = _receiver(call)
    outer, inner = integer(call.argument("outer_axis")), integer(call.argument("inner_axis"))
    if data.shape is not None and outer == 0 and isinstance(inner, int) and inner in (len(data.shape) - 1, -1):
        return result(data.dtype, (None,))
    return TensorValue(
        TensorType(data.dtype),
        TensorKind.TENSOR if data.shape is not None and len(data.shape) == 2 else TensorKind.RAGGED,
    )


def over_rows(rule: OperationRule) -> OperationRule:
    """A reduction of tensors that also accepts ragged ones: for rank 2 over one axis it gives a tensor; otherwise the
    result is unknown.
    """
    dense = dense_only(rule)

    def reduce(call: BoundCall) -> Value:
        data = call.argument("input_tensor")
        if not isinstance(data, TensorValue) or data.kind is not TensorKind.RAGGED:
            return dense(call)
        axis = integer(call.argument("axis"))
        shape, dtype = data.type.shape, data.type.dtype
        plain = call.name.endswith(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_mean"))
        if shape is None or not isinstance(axis, int) or not plain:
            return UNKNOWN
        if flag(call.argument("keepdims"), False) is not False:
            return UNKNOWN
        # the mean of integers has another dtype
        kept = dtype if dtype in FLOATING or not call.name.endswith("reduce_mean") else None
        rank = len(shape)
        axis += rank if axis < 0 else 0
        if rank == 2 and axis == 0:
            return result(kept, (None,))
        if not _ragged_axes(shape) or not 0 < axis < rank:
            return UNKNOWN
        return _dense_or_ragged(kept, (*shape[:axis], *shape[axis + 1 :]))

    return reduce


def by_ragged_numbers(rule: OperationRule, table: str, numbers: str) -> OperationRule:
    """A lookup of rows that also accepts ragged indices: each becomes a row."""
    dense = dense_only(rule)

    def look_up(call: BoundCall) -> Value:
        ids, given = call.argument(numbers), call.argument(table)
        if isinstance(given, TensorValue) and given.kind is TensorKind.RAGGED:
            return _rows_of(call, given, ids)
        if not isinstance(ids, TensorValue) or ids.kind is not TensorKind.RAGGED:
            return dense(call)
        rows, shape = operand(given).type, ids.type.shape
        first = (call.argument("axis"), call.argument("batch_dims"))
        plain = all(is_none(value) or integer(value) == 0 for value in first)
        known = plain and shape is not None and bool(rows.shape)
        return ragged(rows.dtype, _with_rows(shape, rows.shape) if known and shape else None)

    return look_up


def _rows_of(call: BoundCall, data: TensorValue, ids: Value | None) -> Value:
    """Some rows of a ragged tensor."""
    first = (call.argument("axis"), call.argument("batch_dims"))
    places, shape = operand(ids).type.shape, data.type.shape
    is_dense = not (isinstance(ids, TensorValue) and ids.kind is not TensorKind.TENSOR)
    if not is_dense or not all(is_none(value) or integer(value) == 0 for value in first):
        return UNKNOWN
    if not places or shape is None:
        return ragged(data.type.dtype) if places else UNKNOWN
    # further axes of the indices become ragged, too
    return ragged(data.type.dtype, (places[0], *((None,) * (len(places) - 1)), *shape[1:]))


def keeping_rows(rule: OperationRule, name: str) -> OperationRule:
    """An operation that keeps the shape, also of ragged tensors."""
    dense = dense_only(rule)

    def keep(call: BoundCall) -> Value:
        data = call.argument(name)
        if isinstance(data, TensorValue) and data.kind is TensorKind.RAGGED:
            return ragged(data.type.dtype, data.type.shape)
        return dense(call)

    return keep


def joining_rows(rule: OperationRule) -> OperationRule:
    """`tf.concat` with a ragged tensor of rank 2 among its parts: longer rows, or more rows."""
    dense = dense_only(rule)

    def join_parts(call: BoundCall) -> Value:
        parts = elements(call.argument("values")) or ()
        if not any(isinstance(part, TensorValue) and part.kind is TensorKind.RAGGED for part in parts):
            return dense(call)
        types = [operand(part).type for part in parts]
        axis = integer(call.argument("axis"))
        dtype = next((each.dtype for each in types if each.dtype is not None), None)
        if axis not in (0, 1, -1, -2) or any(each.shape is None or len(each.shape) != 2 for each in types):
            return ragged(dtype)
        rows = [each.shape[0] for each in types if each.shape]
        if axis in (1, -1):
            return ragged(dtype, (next((size for size in rows if isinstance(size, int)), None), None))
        known = [size for size in rows if isinstance(size, int)]
        return ragged(dtype, (sum(known) if len(known) == len(rows) else None, None))

    return join_parts


def _stacked(call: BoundCall) -> Value:
    """`tf.ragged.stack(values)`: adds an axis in front; the previously outermost axis becomes ragged."""
    parts = elements(call.argument("values"))
    axis = integer(call.argument("axis"))
    if not parts or axis != 0:
        return UNKNOWN
    types = [operand(part).type for part in parts]
    shapes = [each.shape for each in types]
    if len(types) == 1 or any(shape is None or len(shape) != 1 for shape in shapes):
        return ragged(types[0].dtype)
    return ragged(types[0].dtype, (len(types), None))


def _map_flat_values(call: BoundCall) -> Value:
    """`tf.ragged.map_flat_values(op, *args)`: applies the function to the flat values; the rows are unchanged."""
    function = call.argument("op")
    rows = next((a for a in call.extra_arguments if isinstance(a, TensorValue) and a.kind is TensorKind.RAGGED), None)
    if function is None or rows is None or call.extra_keywords:
        return UNKNOWN
    flat = [
        flat_values_of(a) if isinstance(a, TensorValue) and a.kind is TensorKind.RAGGED else a
        for a in call.extra_arguments
    ]
    made = call.invoke(function, flat)
    if not isinstance(made, TensorValue):
        return UNKNOWN
    outer, axes = rows.type.shape, _ragged_axes(rows.type.shape)
    return ragged(made.type.dtype, _with_rows(outer[:axes], made.type.shape) if outer is not None and axes else None)


def _with_values(*, flat: bool) -> OperationRule:
    """`rt.with_values(values)` and `rt.with_flat_values(values)`: other values in the same rows."""

    def rule(call: BoundCall) -> Value:
        given = call.argument("new_values")
        outer, new = _receiver(call).shape, operand(given)
        axes = _ragged_axes(outer)
        if outer is None or not axes:
            return ragged(new.type.dtype)
        kept = outer[:axes] if flat else outer[:2]
        inner = new.type.shape
        if isinstance(given, TensorValue) and given.kind is TensorKind.RAGGED and not flat:
            return ragged(new.type.dtype, None if not inner else (*kept, *inner[1:]))
        return ragged(new.type.dtype, _with_rows(kept, inner))

    return rule


_RAGGED: Final = "tensorflow.RaggedTensor"

RULES: Final[Mapping[str, OperationRule]] = {
    **{
        f"{_RAGGED}.{name}": _from_rows
        for name in ("from_row_lengths", "from_row_splits", "from_row_starts", "from_row_limits", "from_value_rowids")
    },
    f"{_RAGGED}.from_tensor": _from_tensor,
    f"{_RAGGED}.from_sparse": _from_sparse,
    f"{_RAGGED}.to_tensor": _to_tensor,
    f"{_RAGGED}.to_sparse": _to_sparse,
    f"{_RAGGED}.row_lengths": _row_lengths,
    f"{_RAGGED}.with_values": _with_values(flat=False),
    f"{_RAGGED}.with_flat_values": _with_values(flat=True),
    f"{_RAGGED}.row_starts": _row_limits,
    f"{_RAGGED}.row_limits": _row_limits,
    f"{_RAGGED}.value_rowids": _row_ids,
    f"{_RAGGED}.nrows": _count,
    f"{_RAGGED}.bounding_shape": _bounding_shape,
    f"{_RAGGED}.merge_dims": _merged,
    "tensorflow.ragged.constant": _constant,
    "tensorflow.ragged.map_flat_values": _map_flat_values,
    "tensorflow.ragged.boolean_mask": _masked,
    "tensorflow.ragged.range": _range,
    "tensorflow.ragged.stack": _stacked,
}
