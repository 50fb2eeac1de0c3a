"""Rules for variables and for the methods of tensors.

Computes: the type of a new variable, the results of assignments and reads, and of a tensor's methods. Gives: `RULES`. Source:
`tf.Variable`, `tf.Tensor`, `tf.IndexedSlices`, TensorFlow 2.21. The interpreter sets the identity of the variable
(`TensorValue.variable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Truth
from terra_refactor.domain.dtype import BOOL, STRING, DType
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.shape import Shape, compatible, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    UNKNOWN,
    BoundMethod,
    FunctionValue,
    LibraryValue,
    PartialValue,
    PythonType,
    Reference,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    Value,
)
from terra_refactor.tf_model.arguments import is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import convert_rule, fits, operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, primary, result
from terra_refactor.tf_model.shape_rules.reshaping import gathered, gathered_nd
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def variable(dtype: DType | None, shape: Shape) -> TensorValue:
    """A variable."""
    return TensorValue(TensorType(dtype, shape), TensorKind.VARIABLE)


def _variable(call: BoundCall) -> Value:
    initial = call.argument("initial_value")
    if isinstance(initial, FunctionValue | BoundMethod | PartialValue | LibraryValue | Reference):
        initial = call.invoke(initial, ())
    wanted = call.argument("dtype")
    dtype = None if is_none(wanted) else tensor_dtype(wanted)
    if initial is None or is_none(initial):
        made: Value = result(None)
    else:
        made = (
            convert_rule(initial, dtype)
            if is_none(wanted) or dtype is not None
            else result(None, operand(initial).type.shape)
        )
    assert isinstance(made, TensorValue)
    shape = made.type.shape
    shape_value = call.argument("shape")
    if not is_none(shape_value):
        declared = shape_argument(shape_value)
        if compatible(declared, shape) is Truth.NO:
            raise OperationError(
                ErrorKind.SHAPE,
                f"Variable: the initial value has shape {format_shape(shape)}, declared is {format_shape(declared)}",
                ("initial_value", "shape"),
            )
        shape = declared
    return variable(dtype or made.type.dtype, shape)


def _assign(call: BoundCall) -> Value:
    """`assign`, `assign_add`, `assign_sub`: the value must have the variable's dtype and shape."""
    target = call.receiver
    given = argument(call, "value", "delta")
    if not isinstance(target, TensorValue) or given is None:
        return UNKNOWN if target is None else target
    part = operand(given)
    dtype = target.type.dtype
    if part.is_tensor and None not in (dtype, part.type.dtype) and dtype != part.type.dtype:
        raise OperationError(
            ErrorKind.DTYPE, f"Variable.assign: the variable has dtype {dtype}, the value {part.type.dtype}", ("value",)
        )
    if part.weak and not fits(part, dtype):
        raise OperationError(
            ErrorKind.DTYPE,
            f"Variable.assign: the variable has dtype {dtype}, the Python value {part.type.dtype}",
            ("value",),
        )
    if part.known and compatible(target.type.shape, part.type.shape) is Truth.NO:
        raise OperationError(
            ErrorKind.SHAPE,
            f"Variable.assign: the variable has shape {format_shape(target.type.shape)}, the value {format_shape(part.type.shape)}",
            ("value",),
        )
    return target


def _itself(call: BoundCall) -> Value:
    return UNKNOWN if call.receiver is None else call.receiver


def _read(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _tensor_itself(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape, data.content)


def _numpy(call: BoundCall) -> Value:
    data = primary(call)
    dtype, shape = data.type.dtype, data.type.shape
    if dtype == STRING and shape == ():
        return Scalar(PythonType.BYTES)
    kind = TensorKind.NUMPY_SCALAR if shape == () else TensorKind.NDARRAY
    return TensorValue(TensorType(dtype, shape), kind, data.content)


def _get_shape(call: BoundCall) -> Value:
    return ShapeValue(primary(call).type.shape)


def _set_shape(call: BoundCall) -> Value:
    data = primary(call)
    wanted = shape_argument(call.argument("shape"))
    if compatible(data.type.shape, wanted) is Truth.NO:
        raise OperationError(
            ErrorKind.SHAPE,
            f"set_shape: a tensor of shape {format_shape(data.type.shape)} does not have shape {format_shape(wanted)}",
            ("shape",),
        )
    return NONE


def shape_after_set(value: TensorValue, shape: Value) -> TensorValue:
    """The known type of the tensor after `value.set_shape(shape)`."""
    merged = meet_shapes(value.type.shape, shape_argument(shape))
    traced = Traced(content=value.traced.content)
    return TensorValue(TensorType(value.type.dtype, merged), value.kind, value.content, value.variable, traced)


def _sparse_read(call: BoundCall) -> Value:
    data, indices = primary(call), operand(call.argument("indices"))
    return result(data.type.dtype, gathered(data.type.shape, indices.type.shape, 0, 0))


def _gather_nd(call: BoundCall) -> Value:
    data, indices = primary(call), operand(call.argument("indices"))
    return result(data.type.dtype, gathered_nd(data.type.shape, indices.type.shape, 0))


def _is_initialized(call: BoundCall) -> Value:
    return result(BOOL, ())


def _indexed_slices(call: BoundCall) -> Value:
    values = operand(call.argument("values"))
    dense = call.argument("dense_shape")
    shape = None if is_none(dense) else shape_argument(dense)
    return TensorValue(TensorType(values.type.dtype, shape), TensorKind.INDEXED_SLICES)


def _nothing(call: BoundCall) -> Value:
    return NOT_A_TENSOR


_VARIABLE: Final = "tensorflow.Variable"
_TENSOR: Final = "tensorflow.Tensor"
_SCATTERS: Final = (
    "batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_max scatter_nd_min "
    "scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
)

RULES: Final[Mapping[str, OperationRule]] = {
    "tensorflow.Variable": _variable,
    "tensorflow.IndexedSlices": _indexed_slices,
    **{f"{_VARIABLE}.{name}": _assign for name in ("assign", "assign_add", "assign_sub")},
    **{f"{_VARIABLE}.{name}": _itself for name in _SCATTERS.split()},
    **{f"{_VARIABLE}.{name}": _read for name in ("read_value", "read_value_no_copy", "value", "initialized_value")},
    f"{_VARIABLE}.numpy": _numpy,
    f"{_VARIABLE}.eval": _numpy,
    f"{_VARIABLE}.get_shape": _get_shape,
    f"{_VARIABLE}.set_shape": _set_shape,
    f"{_VARIABLE}.sparse_read": _sparse_read,
    f"{_VARIABLE}.gather_nd": _gather_nd,
    f"{_VARIABLE}.is_initialized": _is_initialized,
    f"{_VARIABLE}.load": lambda call: NONE,
    f"{_VARIABLE}.ref": _nothing,
    f"{_TENSOR}.numpy": _numpy,
    f"{_TENSOR}.eval": _numpy,
    f"{_TENSOR}.get_shape": _get_shape,
    f"{_TENSOR}.set_shape": _set_shape,
    f"{_TENSOR}.cpu": _tensor_itself,
    f"{_TENSOR}.gpu": _tensor_itself,
    f"{_TENSOR}.ref": _nothing,
    f"{_TENSOR}.experimental_ref": _nothing,
    f"{_TENSOR}.consumers": _nothing,
}
