"""Rules for sparse tensors. Gives: `RULES`. Source: `tf.sparse`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import BOOL, FLOAT32, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import UNKNOWN, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model.arguments import elements, integer, integers, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, axes_of, flag, result
from terra_refactor.tf_model.shape_rules.matmul import matmul_shape
from terra_refactor.tf_model.shape_rules.reduction import reduced_shape
from terra_refactor.tf_model.shape_rules.reshaping import reshaped
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def sparse(dtype: DType | None, shape: Shape = None) -> TensorValue:
    """A sparse tensor."""
    return TensorValue(TensorType(dtype, shape), TensorKind.SPARSE)


def _input(call: BoundCall) -> TensorType:
    return operand(argument(call, "sp_input", "sp_a", "a", "tensor", "x")).type


def _new(call: BoundCall) -> Value:
    values = operand(call.argument("values"))
    return sparse(values.type.dtype, shape_argument(call.argument("dense_shape")))


def _same(call: BoundCall) -> Value:
    data = _input(call)
    return sparse(data.dtype, data.shape)


def _to_dense(call: BoundCall) -> Value:
    data = _input(call)
    return result(data.dtype, data.shape)


def _reduced(call: BoundCall) -> Value:
    data = _input(call)
    axis = call.argument("axis")
    shape = reduced_shape(
        data.shape,
        None if data.shape is None else axes_of(call, axis, data.shape),
        flag(call.argument("keepdims"), False),
        everything=is_none(axis),
    )
    as_sparse = flag(call.argument("output_is_sparse"), False)
    if as_sparse is None:
        return UNKNOWN
    return sparse(data.dtype, shape) if as_sparse else result(data.dtype, shape)


def _with_values(call: BoundCall) -> Value:
    """`sp.with_values(new_values)`: other values at the same positions."""
    data = operand(call.receiver)
    return sparse(operand(call.argument("new_values")).type.dtype, data.type.shape)


def _mapped(call: BoundCall) -> Value:
    """`tf.sparse.map_values(op, *args)`: applies the function to the values; the indices are unchanged."""
    function = call.argument("op")
    first = next((a for a in call.extra_arguments if isinstance(a, TensorValue) and a.kind is TensorKind.SPARSE), None)
    if function is None or first is None or call.extra_keywords:
        return UNKNOWN
    values = [
        result(a.type.dtype, (None,)) if isinstance(a, TensorValue) and a.kind is TensorKind.SPARSE else a
        for a in call.extra_arguments
    ]
    made = call.invoke(function, values)
    return sparse(made.type.dtype, first.type.shape) if isinstance(made, TensorValue) else UNKNOWN


def _added(call: BoundCall) -> Value:
    """Sparse if both are; with a dense operand the sum is dense, with that shape."""
    left, right = call.argument("a"), call.argument("b")
    if not isinstance(left, TensorValue) or not isinstance(right, TensorValue):
        return UNKNOWN
    dtype = left.type.dtype or right.type.dtype
    for one, other in ((left, right), (right, left)):
        if one.kind is not TensorKind.SPARSE:
            return result(dtype, one.type.shape) if other.kind is TensorKind.SPARSE else UNKNOWN
    return sparse(dtype, left.type.shape if left.type.shape is not None else right.type.shape)


def _expanded(call: BoundCall) -> Value:
    data, axis = operand(call.argument("sp_input")).type, integer(call.argument("axis"))
    if data.shape is None:
        return sparse(data.dtype)
    rank = len(data.shape)
    if is_none(call.argument("axis")):
        axis = -1
    if not isinstance(axis, int) or not -rank - 1 <= axis <= rank:
        return sparse(data.dtype, (None,) * (rank + 1))
    place = axis if axis >= 0 else axis + rank + 1
    return sparse(data.dtype, (*data.shape[:place], 1, *data.shape[place:]))


def _concatenated(call: BoundCall) -> Value:
    parts, axis = elements(call.argument("sp_inputs")), integer(call.argument("axis"))
    types = [operand(part).type for part in parts or ()]
    if not types:
        return UNKNOWN
    shapes = [each.shape for each in types if each.shape is not None]
    dtype = types[0].dtype
    # different ranks are an error; other axes may differ in size on request
    if len(shapes) < len(types) or len({len(shape) for shape in shapes}) != 1:
        return sparse(dtype)
    rank = len(shapes[0])
    if not isinstance(axis, int) or not -rank <= axis < rank:
        return sparse(dtype, (None,) * rank)
    sizes: list[Dim] = []
    for position in range(rank):
        along = [shape[position] for shape in shapes]
        if position == axis % rank:
            known = [size for size in along if isinstance(size, int)]
            sizes.append(sum(known) if len(known) == len(along) else None)
        else:
            sizes.append(along[0] if len(set(along)) == 1 else None)
    return sparse(dtype, tuple(sizes))


def _filled_rows(call: BoundCall) -> Value:
    data = _input(call)
    rows = data.shape[0] if data.shape else None
    return TupleValue((sparse(data.dtype, data.shape), result(BOOL, (rows,))))


def _reset_shape(call: BoundCall) -> Value:
    data, wanted = _input(call), call.argument("new_shape")
    if is_none(wanted):
        # the smallest shape that holds every value
        return sparse(data.dtype, None if data.shape is None else (None,) * len(data.shape))
    return sparse(data.dtype, shape_argument(wanted))


def _indicator(call: BoundCall) -> Value:
    shape = _input(call).shape
    return result(BOOL, None if not shape else (*shape[:-1], integer(call.argument("vocab_size"))))


def _embedded(call: BoundCall) -> Value:
    """`embedding_lookup_sparse`: a row for each example up to the last one with an id, so the number of rows is open."""
    table = _table_row(call)
    return result(table.dtype, None if table.shape is None else (None, *table.shape))


def _safely_embedded(call: BoundCall) -> Value:
    """A row for each row of ids, including empty ones."""
    table, ids = _table_row(call), operand(call.argument("sparse_ids")).type.shape
    known = table.shape is not None and ids is not None
    return result(table.dtype, (*ids[:-1], *table.shape) if known and ids and table.shape is not None else None)


def _table_row(call: BoundCall) -> TensorType:
    """The type of a row of an unpartitioned table."""
    value = call.argument("params") or call.argument("embedding_weights")
    parts = elements(value)
    if parts is not None and len(parts) == 1:
        value = parts[0]
    table = operand(value).type
    return TensorType(table.dtype, table.shape[1:] if table.shape else None)


def _product(call: BoundCall) -> Value:
    left, right = operand(call.argument("sp_a")), operand(call.argument("b"))
    flip_left, flip_right = flag(call.argument("adjoint_a"), False), flag(call.argument("adjoint_b"), False)
    dtype = left.type.dtype or right.type.dtype
    if flip_left is None or flip_right is None:
        return result(dtype)
    shape = matmul_shape(
        left.type.shape,
        right.type.shape,
        transpose_left=flip_left,
        transpose_right=flip_right,
        what="sparse.sparse_dense_matmul",
        arguments=("sp_a", "b"),
    )
    return result(dtype, shape)


def _transposed(call: BoundCall) -> Value:
    data = _input(call)
    perm = call.argument("perm")
    if data.shape is None:
        return sparse(data.dtype)
    if is_none(perm):
        return sparse(data.dtype, tuple(reversed(data.shape)))
    order = integers(perm)
    if order is None or len(order) != len(data.shape):
        return sparse(data.dtype, (None,) * len(data.shape))
    sizes: list[Dim] = [
        data.shape[axis] if isinstance(axis, int) and 0 <= axis < len(data.shape) else None for axis in order
    ]
    return sparse(data.dtype, tuple(sizes))


def _reshaped(call: BoundCall) -> Value:
    data = _input(call)
    return sparse(data.dtype, reshaped(data.shape, integers(call.argument("shape"))))


def _eye(call: BoundCall) -> Value:
    wanted = call.argument("dtype")
    rows, columns_value = integer(call.argument("num_rows")), call.argument("num_columns")
    columns = rows if is_none(columns_value) else integer(columns_value)
    return sparse(FLOAT32 if is_none(wanted) else tensor_dtype(wanted), (rows, columns))


_SPARSE: Final = "tensorflow.sparse"

RULES: Final[Mapping[str, OperationRule]] = {
    f"{_SPARSE}.SparseTensor": _new,
    f"{_SPARSE}.from_dense": _same,
    f"{_SPARSE}.reorder": _same,
    f"{_SPARSE}.retain": _same,
    f"{_SPARSE}.softmax": _same,
    f"{_SPARSE}.to_dense": _to_dense,
    f"{_SPARSE}.reduce_sum": _reduced,
    f"{_SPARSE}.reduce_max": _reduced,
    f"{_SPARSE}.sparse_dense_matmul": _product,
    f"{_SPARSE}.transpose": _transposed,
    f"{_SPARSE}.reshape": _reshaped,
    f"{_SPARSE}.eye": _eye,
    f"{_SPARSE}.SparseTensor.with_values": _with_values,
    f"{_SPARSE}.map_values": _mapped,
    f"{_SPARSE}.add": _added,
    f"{_SPARSE}.expand_dims": _expanded,
    f"{_SPARSE}.concat": _concatenated,
    f"{_SPARSE}.fill_empty_rows": _filled_rows,
    f"{_SPARSE}.maximum": _same,
    f"{_SPARSE}.minimum": _same,
    f"{_SPARSE}.reset_shape": _reset_shape,
    f"{_SPARSE}.to_indicator": _indicator,
    "tensorflow.nn.embedding_lookup_sparse": _embedded,
    "tensorflow.nn.safe_embedding_lookup_sparse": _safely_embedded,
}
