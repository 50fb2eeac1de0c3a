"""Rules for functions that create tensors: constants, fills, ranges, one-hot codes, identity matrices; and for specs, shapes and dtypes.

Computes: dtype and shape from Python values and sizes; contents of small integer tensors are kept. Gives: `RULES`, `ATTRIBUTES` (of
shapes and dtypes). Source: `tf.constant`, `tf.zeros`, `tf.range`, `tf.TensorShape`, `tf.TensorSpec`, TensorFlow 2.21.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Truth, Why, definitely_different, format_dim, opened
from terra_refactor.domain.dtype import (
    BFLOAT16,
    BOOL,
    COMPLEX,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT32,
    INT64,
    INTEGER,
    UNSIGNED,
    DType,
)
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import Shape, compatible, element_count, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    NOT_A_TENSOR,
    TRUE,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    DTypeValue,
    FrozenList,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import (
    dtype_argument,
    elements,
    integer,
    is_none,
    number,
    shape_argument,
    size,
)
from terra_refactor.tf_model.ops.conversion import CONTENT_LIMIT, convert_rule, operand, size_value
from terra_refactor.tf_model.ops.results import argument, normal_axis, primary, result, table
from terra_refactor.tf_model.releases import TENSORFLOW, Behaviour
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def tensor_dtype(value: Value | None) -> DType | None:
    """A dtype argument of TensorFlow, where `float` means float32 and `int` int32 (`tf.as_dtype`)."""
    if isinstance(value, Constant) and value.value in ("float", "int"):
        return FLOAT32 if value.value == "float" else None
    found = dtype_argument(value)
    if found is None:
        return None
    name = getattr(value, "name", "")
    return {"builtins.float": FLOAT32, "builtins.int": INT32}.get(name, found)


def _convert(call: BoundCall) -> Value:
    value = call.argument("value")
    wanted = call.argument("dtype")
    if value is None:
        return result(None)
    if not is_none(wanted):
        dtype = tensor_dtype(wanted)
        if dtype is None:
            return result(None, operand(value).type.shape)
        return convert_rule(value, dtype)
    hint = argument(call, "dtype_hint", "preferred_dtype")
    converted = convert_rule(value)
    if hint is not None and isinstance(converted, TensorValue) and not isinstance(value, TensorValue):
        # the hint is followed if possible, depending on the value
        preferred = tensor_dtype(hint)
        if converted.type.dtype == preferred:
            return converted
        dtype = (
            preferred if converted.type.dtype in INTEGER and (preferred in FLOATING or preferred in INTEGER) else None
        )
        if converted.type.dtype in FLOATING and preferred in FLOATING:
            dtype = preferred
        return result(dtype, converted.type.shape)
    if (
        hint is not None
        and isinstance(value, TensorValue)
        and value.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
    ):
        return result(None, value.type.shape)
    return converted


_OF_GRAPHS: Final = "compat.v1"
_FILLS: Final = Behaviour(TENSORFLOW, "2.0", "the last value fills the rest in a graph", assumed=True)


def _constant(call: BoundCall) -> Value:
    value = call.argument("value")
    wanted = call.argument("dtype")
    if value is None:
        return result(None)
    dtype = None if is_none(wanted) else tensor_dtype(wanted)
    is_tensor = isinstance(value, TensorValue) and value.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
    if isinstance(value, TensorValue) and is_tensor and is_none(call.argument("shape")):
        # symbolic tensors are rejected, concrete ones accepted
        return result(value.type.dtype if is_none(wanted) else dtype, value.type.shape, value.content)
    made = (
        convert_rule(value, dtype)
        if not is_tensor and (is_none(wanted) or dtype is not None)
        else result(operand(value).type.dtype if is_none(wanted) else dtype, operand(value).type.shape)
    )
    shape_value = call.argument("shape")
    if is_none(shape_value) or not isinstance(made, TensorValue):
        return made
    target = shape_argument(shape_value)
    source = made.type.shape
    if source is not None and target is not None:
        count, wanted_count = element_count(source), element_count(target)
        if definitely_different(count, wanted_count) and definitely_different(count, 1):
            are_too_many = isinstance(count, int) and isinstance(wanted_count, int) and count > wanted_count
            if _OF_GRAPHS in call.name and not are_too_many:
                return result(made.type.dtype, target)
            raise OperationError(
                ErrorKind.SHAPE,
                f"constant: {format_dim(count)} values (shape {format_shape(source)}) do not fill shape {format_shape(target)}",
                ("value", "shape"),
                None if are_too_many else _FILLS,
            )
    return result(made.type.dtype, target)


def _filled(default: DType) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        wanted = call.argument("dtype")
        dtype = default if is_none(wanted) else tensor_dtype(wanted)
        shape_value = call.argument("shape")
        shape = shape_argument(shape_value)
        content: Value | None = None
        if dtype in (INT32, INT64) and shape is not None and len(shape) <= 1:
            fill: Value = Constant(1 if call.name.endswith("ones") else 0)
            count = shape[0] if shape else None
            content = (
                fill
                if not shape
                else TupleValue((fill,) * count)
                if isinstance(count, int) and count <= CONTENT_LIMIT
                else None
            )
        return result(dtype, shape, content)

    return rule


def _filled_like(call: BoundCall) -> Value:
    data = primary(call)
    wanted = call.argument("dtype")
    if data.kind is TensorKind.RAGGED:
        return TensorValue(
            TensorType(data.type.dtype if is_none(wanted) else tensor_dtype(wanted), data.type.shape), TensorKind.RAGGED
        )
    if data.kind is TensorKind.SPARSE:
        return UNKNOWN
    return result(data.type.dtype if is_none(wanted) else tensor_dtype(wanted), data.type.shape)


def _fill(call: BoundCall) -> Value:
    value = operand(call.argument("value"))
    if value.type.shape:
        raise OperationError(
            ErrorKind.RANK,
            f"fill: the value has shape {format_shape(value.type.shape)}; it must be a number",
            ("value",),
        )
    return result(value.type.dtype, shape_argument(call.argument("dims")))


def _float_range_size(start: float, limit: float, delta: float, dtype: DType | None) -> Dim:
    """The number of elements of a range of floats: TensorFlow computes it in the precision of the range."""
    if dtype == FLOAT64:
        return max(0, math.ceil((limit - start) / delta))
    if dtype != FLOAT32:
        return None

    def rounded(value: float) -> float:
        return float(struct.unpack("f", struct.pack("f", value))[0])

    try:
        span = rounded(rounded(limit) - rounded(start))
        return max(0, math.ceil(rounded(span / rounded(delta))))
    except (OverflowError, ZeroDivisionError, ValueError):
        return None


def _range(call: BoundCall) -> Value:
    start, limit, delta = call.argument("start"), call.argument("limit"), call.argument("delta")
    if is_none(limit):
        if call.incomplete:
            return result(None, (None,))
        start, limit = Constant(0), start
    delta = Constant(1) if delta is None else delta
    wanted = call.argument("dtype")
    if not is_none(wanted):
        dtype = tensor_dtype(wanted)
    else:
        order = [INT32, INT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64]
        parts = [operand(value).type.dtype for value in (start, limit, delta)]
        ranked = [order.index(part) for part in parts if part is not None and part in order]
        dtype = order[max(ranked)] if len(ranked) == 3 else None
    for name, value in (("start", start), ("limit", limit), ("delta", delta)):
        shape = operand(value).type.shape
        if shape and len(shape) == 1 and not definitely_different(shape[0], 1):
            # the kernel accepts a vector of one element as a number, but a graph does not
            return result(dtype, (None,))
        if shape:
            raise OperationError(
                ErrorKind.RANK, f"range: {name} has shape {format_shape(shape)}; it must be a number", (name,)
            )
    bounds = number(start), number(limit), number(delta)
    if bounds[0] is not None and bounds[1] is not None and bounds[2] and (bounds[1] - bounds[0]) * bounds[2] < 0:
        raise OperationError(
            ErrorKind.SHAPE,
            f"range: from {bounds[0]} to {bounds[1]} with step {bounds[2]}; TensorFlow rejects a step in the wrong direction",
            ("start", "limit"),
        )
    low, high, step = integer(start), integer(limit), integer(delta)
    if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and step:
        known = range(low, high, step)
        content = (
            TupleValue(tuple(Constant(item) for item in known))
            if len(known) <= CONTENT_LIMIT and dtype in (INT32, INT64)
            else None
        )
        return result(dtype, (len(known),), content)
    if low == 0 and step == 1 and high is not None:
        return result(dtype, (high,))
    if bounds[0] is not None and bounds[1] is not None and bounds[2]:
        return result(dtype, (_float_range_size(bounds[0], bounds[1], bounds[2], dtype),))
    return result(dtype, (None,))


def _linspace(call: BoundCall) -> Value:
    start, stop = operand(call.argument("start")), operand(argument(call, "stop", "limit"))
    count, axis = integer(call.argument("num")), integer(call.argument("axis"))
    shape = broadcast_shapes(start.type.shape, stop.type.shape, "linspace", ("start", "stop"))
    dtype = start.type.dtype
    if dtype in INTEGER:
        dtype = FLOAT64
    if not start.known or (not start.is_tensor and stop.is_tensor):
        dtype = None
    if shape is None or not isinstance(axis, int):
        return result(dtype)
    position = normal_axis(call, axis, shape, extra=1)
    return result(dtype, (*shape[:position], count, *shape[position:]))


def _one_hot(call: BoundCall) -> Value:
    indices = operand(call.argument("indices"))
    depth = size(call.argument("depth"))
    wanted, on_value, off_value = (call.argument(name) for name in ("dtype", "on_value", "off_value"))
    if not is_none(wanted):
        dtype = tensor_dtype(wanted)
    elif is_none(on_value) and is_none(off_value):
        dtype = FLOAT32
    else:
        dtype = operand(off_value if is_none(on_value) else on_value).type.dtype
    if indices.is_tensor and indices.type.dtype in FLOATING:
        raise OperationError(
            ErrorKind.DTYPE, f"one_hot: indices have dtype {indices.type.dtype}, not an integer type", ("indices",)
        )
    shape = indices.type.shape
    axis_value = call.argument("axis")
    axis = -1 if is_none(axis_value) else integer(axis_value)
    if shape is None:
        return result(dtype)
    if not isinstance(axis, int):
        return result(dtype, (None,) * (len(shape) + 1))
    position = normal_axis(call, axis, shape, extra=1)
    return result(dtype, (*shape[:position], depth, *shape[position:]))


def _eye(call: BoundCall) -> Value:
    wanted = call.argument("dtype")
    rows = size(call.argument("num_rows"))
    columns_value = call.argument("num_columns")
    columns = rows if is_none(columns_value) else size(columns_value)
    batch_value = call.argument("batch_shape")
    batch = () if is_none(batch_value) else shape_argument(batch_value)
    return result(
        FLOAT32 if is_none(wanted) else tensor_dtype(wanted), None if batch is None else (*batch, rows, columns)
    )


def _static_value(call: BoundCall) -> Value:
    """`tf.get_static_value`: an ndarray if the content is known, otherwise perhaps None."""
    data = primary(call)
    if data.is_ndarray or data.weak:
        return TensorValue(data.type, TensorKind.NDARRAY, data.content)
    if data.content is not None and _certain(data.content) and data.type.shape is not None:
        return TensorValue(data.type, TensorKind.NDARRAY if data.type.shape else TensorKind.NUMPY_SCALAR, data.content)
    return NOT_A_TENSOR


def _certain(content: Value) -> bool:
    if isinstance(content, TupleValue):
        return all(_certain(item) for item in content.elements)
    return isinstance(content, Constant)


# --- shapes, dtypes, specs ------------------------------------------------------------------------------------------------------


def _shape_of(value: Value | None) -> Shape:
    match value:
        case ShapeValue(shape):
            return shape
        case _:
            return shape_argument(value)


def _tensor_shape(call: BoundCall) -> Value:
    dims = call.argument("dims")
    return ShapeValue(None if is_none(dims) else _shape_of(dims))


def _dimension_value(call: BoundCall) -> Value:
    value = argument(call, "dimension")
    return NONE if value is None else value


def _dimension_at(call: BoundCall) -> Value:
    shape, index = _shape_of(call.argument("shape")), integer(call.argument("index"))
    if shape is None or not isinstance(index, int) or not -len(shape) <= index < len(shape):
        return NOT_A_TENSOR
    return NOT_A_TENSOR if shape[index] is None else size_value(shape[index])


def _static_broadcast(call: BoundCall) -> Value:
    left, right = _shape_of(call.argument("shape_x")), _shape_of(call.argument("shape_y"))
    return ShapeValue(broadcast_shapes(left, right, "broadcast_static_shape", ("shape_x", "shape_y")))


def _receiver_shape(call: BoundCall) -> Shape:
    return _shape_of(call.receiver)


def _other_shape(call: BoundCall) -> Shape:
    return _shape_of(argument(call, "other"))


def _as_list(call: BoundCall) -> Value:
    shape = _receiver_shape(call)
    if shape is None:
        return FrozenList(None, UNKNOWN_INT)
    # None for sizes that are not static; their run-time values are known only to the interpreter
    return FrozenList(tuple(NOT_A_TENSOR if size is None else size_value(size) for size in shape))


def _concatenate(call: BoundCall) -> Value:
    left, right = _receiver_shape(call), _other_shape(call)
    return ShapeValue(None if left is None or right is None else (*left, *right))


def _merge_with(call: BoundCall) -> Value:
    left, right = _receiver_shape(call), _other_shape(call)
    if compatible(left, right) is Truth.NO:
        raise OperationError(
            ErrorKind.SHAPE, f"shapes {format_shape(left)} and {format_shape(right)} are not compatible", ("other",)
        )
    return ShapeValue(meet_shapes(left, right))


def _assert_compatible(call: BoundCall) -> Value:
    _merge_with(call)
    return NONE


def _is_compatible(call: BoundCall) -> Value:
    match compatible(_receiver_shape(call), _other_shape(call)):
        case Truth.YES:
            return TRUE
        case Truth.NO:
            return FALSE
        case _:
            return UNKNOWN_BOOL


def _num_elements(call: BoundCall) -> Value:
    shape = _receiver_shape(call)
    count = None if shape is None else element_count(shape)
    return NOT_A_TENSOR if count is None else size_value(count)


def _is_fully_defined(call: BoundCall) -> Value:
    shape = _receiver_shape(call)
    return TRUE if shape is not None and all(isinstance(size, int) for size in shape) else UNKNOWN_BOOL


def _with_rank(call: BoundCall) -> Value:
    shape, rank = _receiver_shape(call), integer(argument(call, "rank"))
    if shape is None and isinstance(rank, int):
        return ShapeValue((None,) * rank)
    if shape is not None and isinstance(rank, int) and len(shape) != rank:
        raise OperationError(
            ErrorKind.RANK, f"shape {format_shape(shape)} has rank {len(shape)}, not {rank}", ("rank",)
        )
    return ShapeValue(shape)


def _rank_of(value: Value) -> Value:
    shape = _shape_of(value)
    return UNKNOWN_INT if shape is None else Constant(len(shape))


def _dims_of(value: Value) -> Value:
    shape = _shape_of(value)
    return (
        FrozenList(None, NOT_A_TENSOR)
        if shape is None
        else FrozenList(tuple(NOT_A_TENSOR if size is None else size_value(size) for size in shape))
    )


def _dtype_of(value: Value) -> DType | None:
    return value.dtype if isinstance(value, DTypeValue) else None


def _dtype_flag(members: frozenset[DType]) -> Callable[[Value], Value]:
    def rule(value: Value) -> Value:
        dtype = _dtype_of(value)
        return UNKNOWN_BOOL if dtype is None else Constant(dtype in members)

    return rule


def _dtype_name(value: Value) -> Value:
    dtype = _dtype_of(value)
    return UNKNOWN_STR if dtype is None else Constant(str(dtype))


def _dtype_itself(value: Value) -> Value:
    return DTypeValue(_dtype_of(value))


def _real_dtype(value: Value) -> Value:
    dtype = _dtype_of(value)
    return DTypeValue({"complex64": FLOAT32, "complex128": FLOAT64}.get(dtype, dtype) if dtype is not None else None)


_BYTES: Final = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}


def _dtype_size(value: Value) -> Value:
    dtype = _dtype_of(value)
    if dtype is None:
        return UNKNOWN_INT
    if dtype in _BYTES:
        return Constant(_BYTES[dtype])
    bits = "".join(character for character in dtype if character.isdigit())
    return Constant(int(bits) // 8) if bits else UNKNOWN_INT


def _as_dtype(call: BoundCall) -> Value:
    return DTypeValue(tensor_dtype(argument(call, "type_value", "type")))


def _spec(kind: TensorKind) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        wanted, shape = call.argument("dtype"), call.argument("shape")
        dtype = FLOAT32 if wanted is None and not call.incomplete else tensor_dtype(wanted)
        return SpecValue(TensorType(dtype, None if is_none(shape) else _declared(shape)), kind)

    return rule


def _declared(shape: Value | None) -> Shape:
    """The shape of a spec, with open sizes for None."""
    sizes, given = _shape_of(shape), elements(shape)
    if sizes is None or given is None or len(given) != len(sizes):
        return sizes
    return tuple(
        opened(size, EVERYWHERE, Why.DECLARED) if is_none(each) else size
        for size, each in zip(sizes, given, strict=True)
    )


def _spec_from_tensor(call: BoundCall) -> Value:
    data = operand(argument(call, "tensor", "value", "array", "element", "spec"))
    if not data.known:
        return NOT_A_TENSOR
    kind = data.kind if data.kind in (TensorKind.RAGGED, TensorKind.SPARSE) else TensorKind.TENSOR
    assert kind is not None
    return SpecValue(data.type.seen_eagerly(), kind)


def _spec_shape(value: Value) -> Value:
    # a size that a spec leaves open is None in eager code, too
    return ShapeValue(value.type.seen_eagerly().shape) if isinstance(value, SpecValue) else UNKNOWN


def _spec_dtype(value: Value) -> Value:
    return DTypeValue(value.type.dtype) if isinstance(value, SpecValue) else UNKNOWN


def _is_tensor(call: BoundCall) -> Value:
    value = next(iter(call.arguments.values()), None)
    if isinstance(value, TensorValue):
        return Constant(value.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR))
    return FALSE if value is not None and operand_is_python(value) else UNKNOWN_BOOL


def operand_is_python(value: Value) -> bool:
    """Whether a value certainly is a plain Python value."""
    return isinstance(value, Constant | TupleValue | FrozenList | ShapeValue | DTypeValue)


_SHAPE: Final = "tensorflow.TensorShape"
_DTYPE: Final = "tensorflow.dtypes.DType"

RULES: Final[Mapping[str, OperationRule]] = {
    **table(
        {
            "zeros": _filled(FLOAT32),
            "ones": _filled(FLOAT32),
            "fill": _fill,
            "range": _range,
            "linspace": _linspace,
            "one_hot": _one_hot,
            "eye": _eye,
        }
    ),
    "tensorflow.convert_to_tensor": _convert,
    "tensorflow.constant": _constant,
    "tensorflow.zeros_like": _filled_like,
    "tensorflow.ones_like": _filled_like,
    "tensorflow.get_static_value": _static_value,
    "tensorflow.TensorShape": _tensor_shape,
    "tensorflow.compat.dimension_value": _dimension_value,
    "tensorflow.compat.dimension_at_index": _dimension_at,
    "tensorflow.broadcast_static_shape": _static_broadcast,
    f"{_SHAPE}.as_list": _as_list,
    f"{_SHAPE}.concatenate": _concatenate,
    f"{_SHAPE}.merge_with": _merge_with,
    f"{_SHAPE}.assert_is_compatible_with": _assert_compatible,
    f"{_SHAPE}.is_compatible_with": _is_compatible,
    f"{_SHAPE}.num_elements": _num_elements,
    f"{_SHAPE}.is_fully_defined": _is_fully_defined,
    f"{_SHAPE}.with_rank": _with_rank,
    f"{_SHAPE}.with_rank_at_least": lambda call: ShapeValue(_receiver_shape(call)),
    f"{_SHAPE}.assert_has_rank": lambda call: NONE,
    f"{_SHAPE}.assert_is_fully_defined": lambda call: NONE,
    "tensorflow.dtypes.as_dtype": _as_dtype,
    "tensorflow.TensorSpec": _spec(TensorKind.TENSOR),
    "tensorflow.SparseTensorSpec": _spec(TensorKind.SPARSE),
    "tensorflow.RaggedTensorSpec": _spec(TensorKind.RAGGED),
    "tensorflow.TensorSpec.from_tensor": _spec_from_tensor,
    "tensorflow.TensorSpec.from_spec": _spec_from_tensor,
    "tensorflow.type_spec_from_value": _spec_from_tensor,
    "tensorflow.is_tensor": _is_tensor,
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    f"{_SHAPE}.rank": _rank_of,
    f"{_SHAPE}.ndims": _rank_of,
    f"{_SHAPE}.dims": _dims_of,
    f"{_DTYPE}.name": _dtype_name,
    f"{_DTYPE}.is_floating": _dtype_flag(FLOATING),
    f"{_DTYPE}.is_integer": _dtype_flag(INTEGER),
    f"{_DTYPE}.is_complex": _dtype_flag(COMPLEX),
    f"{_DTYPE}.is_bool": _dtype_flag(frozenset({BOOL})),
    f"{_DTYPE}.is_unsigned": _dtype_flag(UNSIGNED),
    f"{_DTYPE}.base_dtype": _dtype_itself,
    f"{_DTYPE}.as_numpy_dtype": _dtype_itself,
    f"{_DTYPE}.real_dtype": _real_dtype,
    f"{_DTYPE}.size": _dtype_size,
    "tensorflow.TensorSpec.shape": _spec_shape,
    "tensorflow.TensorSpec.dtype": _spec_dtype,
}
