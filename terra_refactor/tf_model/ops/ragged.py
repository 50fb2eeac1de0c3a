"""Rules for ragged tensors. A ragged axis has an unknown size. Gives: `RULES`. Source: `tf.RaggedTensor`, `tf.ragged`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOATING, INT32, INT64, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import UNKNOWN, FrozenList, TensorKind, TensorValue, Value
from terra_refactor.tf_model.arguments import dtype_argument, elements, integer, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import dense_only, flag, result
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def ragged(dtype: DType | None, shape: Shape = None) -> TensorValue:
    """A ragged tensor."""
    return TensorValue(TensorType(dtype, shape), TensorKind.RAGGED)


def _receiver(call: BoundCall) -> TensorType:
    return call.receiver.type if isinstance(call.receiver, TensorValue) else TensorType()


def _from_rows(call: BoundCall) -> Value:
    values = operand(call.argument("values"))
    shape = values.type.shape
    rows: Dim = None
    for name, less in (("row_lengths", 0), ("row_splits", 1), ("row_starts", 0), ("row_limits", 0)):
        part = call.argument(name)
        if part is not None and not is_none(part):
            lengths = operand(part).type.shape
            if lengths and isinstance(lengths[0], int):
                rows = lengths[0] - less
            elif lengths and not less:
                rows = lengths[0]
    return ragged(values.type.dtype, None if not shape else (rows, None, *shape[1:]))


def _from_tensor(call: BoundCall) -> Value:
    data = operand(call.argument("tensor"))
    rank = integer(call.argument("ragged_rank"))
    shape = data.type.shape
    if shape is None or not isinstance(rank, int):
        return ragged(data.type.dtype)
    return ragged(data.type.dtype, (shape[0], *((None,) * rank), *shape[1 + rank :]) if shape else None)


def _to_tensor(call: BoundCall) -> Value:
    data = _receiver(call)
    wanted = call.argument("shape")
    if not is_none(wanted):
        shape = shape_argument(wanted)
        if shape is not None and data.shape is not None and len(shape) == len(data.shape):
            # None leaves a size as it is
            shape = tuple(own if size is None else size for size, own in zip(shape, data.shape, strict=True))
        return result(data.dtype, shape)
    return result(data.dtype, data.shape)


def _row_lengths(call: BoundCall) -> Value:
    shape = _receiver(call).shape
    if integer(call.argument("axis")) != 1:
        return TensorValue(TensorType(INT64), TensorKind.RAGGED)
    return result(INT64, (shape[0] if shape else None,))


def _row_splits(call: BoundCall) -> Value:
    return result(INT64, (None,))


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
    """Depth, outer length and dtype of a nested list; the depth is None where it is not the same everywhere or not known."""
    items = elements(value)
    if items == ():
        # an empty row says nothing about what is in the others
        return 1, 0, None
    if items is None:
        if isinstance(value, FrozenList):
            return None, None, None
        part = operand(value)
        return (0 if part.weak and part.type.shape == () else None), None, part.type.dtype
    parts = [_nesting(item) for item in items]
    depths = {depth for depth, _, _ in parts if depth is not None}
    dtypes = {dtype for _, _, dtype in parts if dtype is not None}
    known = len(depths) == 1 and all(depth is not None for depth, _, _ in parts)
    return (next(iter(depths)) + 1 if known else None), len(items), next(iter(dtypes)) if len(dtypes) == 1 else None


def _same_kind(call: BoundCall) -> Value:
    data = operand(call.argument("data"))
    return ragged(data.type.dtype)


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
    """A reduction of tensors that also takes ragged ones: of rank 2 over one axis it gives a tensor; else the result is unknown."""
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
        # the mean of integers is another type than theirs
        kept = dtype if dtype in FLOATING or not call.name.endswith("reduce_mean") else None
        rank = len(shape)
        axis += rank if axis < 0 else 0
        if rank == 2 and axis in (0, 1):
            return result(kept, (shape[0] if axis == 1 else None,))
        if not _only_rows_are_ragged(shape) or not 0 < axis < rank:
            return UNKNOWN
        if axis == 1:
            return result(kept, (shape[0], *shape[2:]))
        return ragged(kept, (*shape[:axis], *shape[axis + 1 :]))

    return reduce


def _only_rows_are_ragged(shape: tuple[Dim, ...]) -> bool:
    """Whether the rows hold items of one shape, so that the flat values are a tensor of that shape behind a first axis."""
    return len(shape) >= 2 and shape[1] is None and all(size is not None for size in shape[2:])


def by_ragged_numbers(rule: OperationRule, table: str, numbers: str) -> OperationRule:
    """A look-up of rows that also takes ragged numbers: each becomes a row."""
    dense = dense_only(rule)

    def look_up(call: BoundCall) -> Value:
        ids = call.argument(numbers)
        if not isinstance(ids, TensorValue) or ids.kind is not TensorKind.RAGGED:
            return dense(call)
        rows, shape = operand(call.argument(table)).type, ids.type.shape
        first = (call.argument("axis"), call.argument("batch_dims"))
        plain = all(is_none(value) or integer(value) == 0 for value in first)
        known = plain and shape is not None and bool(rows.shape)
        return ragged(rows.dtype, (*shape, *rows.shape[1:]) if known and shape and rows.shape else None)

    return look_up


def keeping_rows(rule: OperationRule, name: str) -> OperationRule:
    """An operation that keeps the shape, of ragged tensors too."""
    dense = dense_only(rule)

    def keep(call: BoundCall) -> Value:
        data = call.argument(name)
        if isinstance(data, TensorValue) and data.kind is TensorKind.RAGGED:
            return ragged(data.type.dtype, data.type.shape)
        return dense(call)

    return keep


def joining_rows(rule: OperationRule) -> OperationRule:
    """`tf.concat` with a ragged tensor among its parts, of rank 2: longer rows, or more of them."""
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
    """`tf.ragged.stack(values)`: one more axis in front, and whatever was outermost is ragged."""
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
    """`tf.ragged.map_flat_values(op, *args)`: the function on the flat values; the rows stay as they are."""
    function = call.argument("op")
    rows = next((a for a in call.extra_arguments if isinstance(a, TensorValue) and a.kind is TensorKind.RAGGED), None)
    if function is None or rows is None or call.extra_keywords:
        return UNKNOWN
    flat = [
        result(a.type.dtype, (None,) if a.type.shape is not None and len(a.type.shape) == 2 else None)
        if isinstance(a, TensorValue) and a.kind is TensorKind.RAGGED
        else a
        for a in call.extra_arguments
    ]
    made = call.invoke(function, flat)
    if not isinstance(made, TensorValue):
        return UNKNOWN
    outer, inner = rows.type.shape, made.type.shape
    known = outer is not None and len(outer) == 2 and inner is not None and len(inner) == 1
    return ragged(made.type.dtype, outer if known else None)


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
    f"{_RAGGED}.row_starts": _row_splits,
    f"{_RAGGED}.row_limits": _row_splits,
    f"{_RAGGED}.value_rowids": _row_splits,
    f"{_RAGGED}.nrows": _count,
    f"{_RAGGED}.bounding_shape": _bounding_shape,
    f"{_RAGGED}.merge_dims": _merged,
    "tensorflow.ragged.constant": _constant,
    "tensorflow.ragged.map_flat_values": _map_flat_values,
    "tensorflow.ragged.boolean_mask": _same_kind,
    "tensorflow.ragged.range": _range,
    "tensorflow.ragged.stack": _stacked,
}
