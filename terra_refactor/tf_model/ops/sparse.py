"""Rules for sparse tensors. Gives: `RULES`. Source: `tf.sparse`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOAT32, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TensorKind, TensorValue, Value
from terra_refactor.tf_model.arguments import integer, integers, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, flag, result
from terra_refactor.tf_model.shape_rules.matmul import matmul_shape
from terra_refactor.tf_model.shape_rules.reshaping import reshaped
from terra_refactor.tf_model.spec import BoundCall, Rule


def sparse(dtype: DType | None, shape: Shape = None) -> TensorValue:
    """A sparse tensor."""
    return TensorValue(TensorType(dtype, shape), TensorKind.SPARSE)


def _input(call: BoundCall) -> TensorType:
    return operand(argument(call, "sp_input", "sp_a", "a", "tensor")).type


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
    if is_none(call.argument("axis")) and flag(call.argument("keepdims"), False) is False:
        return result(data.dtype, ()) if flag(call.argument("output_is_sparse"), False) is False else sparse(data.dtype)
    return result(data.dtype) if flag(call.argument("output_is_sparse"), False) is False else sparse(data.dtype)


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

RULES: Final[Mapping[str, Rule]] = {
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
}
