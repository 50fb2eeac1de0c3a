"""Element-wise functions, reductions, scans and segment operations of `tf.math`.

Computes: shapes by broadcasting and reduction, dtypes by TensorFlow's rules (no promotion between tensors). Gives: `RULES`. Source:
`tf.math`, `tf.nn` (activations), `tf.bitwise`, TensorFlow 2.21, eager and in graphs.

Approximates: a reduction over unknown axes has an unknown shape; the number of segments is unknown if it depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, Truth, definitely_different, format_dim
from terra_refactor.domain.dtype import (
    ALL,
    BOOL,
    COMPLEX,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT32,
    INT64,
    INTEGER,
    NUMERIC,
    SIGNED,
    STRING,
    DType,
)
from terra_refactor.domain.shape import Shape, compatible, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import dtype_argument, elements, integer, is_none
from terra_refactor.tf_model.dtype_rules import quotient_dtype
from terra_refactor.tf_model.ops.contents import applied, content_result
from terra_refactor.tf_model.ops.conversion import Operand, fits, operand
from terra_refactor.tf_model.ops.operators import unary_rule
from terra_refactor.tf_model.ops.ragged import over_rows
from terra_refactor.tf_model.ops.results import (
    argument,
    axes_of,
    call_name,
    check_dtype,
    dense_only,
    flag,
    normal_axis,
    primary,
    result,
)
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.labels import without_squeezable
from terra_refactor.tf_model.shape_rules.reduction import reduced_shape
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_REAL: Final = FLOATING | INTEGER
_FLOATING_COMPLEX: Final = FLOATING | COMPLEX
_MAGNITUDE: Final[Mapping[DType, DType]] = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}


def _only(allowed: frozenset[DType]) -> DType | None:
    """The dtype of an unknown operand, if the operation accepts only one dtype."""
    return next(iter(allowed)) if len(allowed) == 1 else None


def _elementwise(
    allowed: frozenset[DType],
    gives: DType | None = None,
    *,
    magnitude: bool = False,
    of_number: Callable[[float], float] | None = None,
) -> OperationRule:
    """A function of one tensor that keeps the shape; the dtype is kept, or is `gives`, or the real type of a complex one.

    `of_number` is the same function for a float, for contents.
    """

    def rule(call: BoundCall) -> Value:
        data = primary(call)
        check_dtype(call, data.type.dtype, allowed)
        dtype = data.type.dtype or _only(allowed)
        if magnitude and dtype is not None:
            dtype = _MAGNITUDE.get(dtype, dtype)
        if gives is not None:
            dtype = gives
        if data.kind is TensorKind.SPARSE:
            return UNKNOWN
        kind = TensorKind.RAGGED if data.kind is TensorKind.RAGGED else TensorKind.TENSOR
        content = None if of_number is None else applied(of_number, data.content, dtype)
        return TensorValue(TensorType(dtype, data.type.shape), kind, content)

    return rule


_ELEMENTWISE: Final[tuple[tuple[OperationRule, str], ...]] = (
    (
        _elementwise(_FLOATING_COMPLEX),
        "math.acos math.acosh math.asin math.asinh math.atan math.atanh math.cos math.cosh math.exp math.expm1 math.log math.log1p "
        "math.rsqrt math.sigmoid math.sin math.sinh math.sqrt math.tan math.tanh math.reciprocal_no_nan nn.silu",
    ),
    (
        _elementwise(FLOATING),
        "math.digamma math.erf math.erfc math.erfinv math.erfcinv math.lgamma math.log_sigmoid math.ndtri "
        "math.rint math.softplus math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.special.bessel_j0 "
        "math.special.bessel_j1 math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e "
        "math.special.bessel_y0 math.special.bessel_y1 math.special.dawsn math.special.expint math.special.fresnel_cos "
        "math.special.fresnel_sin math.special.spence nn.elu nn.selu nn.gelu nn.softsign",
    ),
    (_elementwise(FLOATING, of_number=math.ceil), "math.ceil"),
    (_elementwise(FLOATING, of_number=math.floor), "math.floor"),
    (_elementwise(NUMERIC), "math.square math.round math.conj"),
    (_elementwise(SIGNED | FLOATING | COMPLEX), "math.sign math.reciprocal"),
    (_elementwise(_REAL), "nn.relu nn.relu6"),
    (_elementwise(SIGNED | FLOATING | COMPLEX, magnitude=True), "math.abs"),
    (_elementwise(NUMERIC, magnitude=True), "math.real"),
    (_elementwise(_FLOATING_COMPLEX, magnitude=True), "math.angle"),
    (_elementwise(ALL, magnitude=True), "math.imag"),
    (_elementwise(FLOATING, BOOL), "math.is_finite math.is_inf math.is_nan"),
    (_elementwise(frozenset({BOOL})), "math.logical_not"),
    (_elementwise(INTEGER), "bitwise.invert"),
)


def _negative(call: BoundCall) -> Value:
    data = primary(call)
    if data.kind is TensorKind.RAGGED:
        return TensorValue(data.type, TensorKind.RAGGED)
    return unary_rule("-", TensorValue(data.type, content=data.content))


def _leaky_relu(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, _REAL, "features")
    return result(FLOAT32 if data.type.dtype in INTEGER else data.type.dtype, data.type.shape)


def _crelu(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    axis = integer(call.argument("axis"))
    if shape is None or not isinstance(axis, int):
        return result(data.type.dtype)
    position = normal_axis(call, axis, shape)
    size = shape[position]
    doubled = None if size is None else size * 2 if isinstance(size, int) else None
    return result(data.type.dtype, (*shape[:position], doubled, *shape[position + 1 :]))


# --- two operands ---------------------------------------------------------------------------------------------------------------


def agreed_dtype(
    call: BoundCall, first: Operand, second: Operand, *, alone: bool, names: tuple[str, str]
) -> DType | None:
    """The dtype in which a function of two operands computes.

    A tensor determines it; Python numbers and arrays are converted to it. `alone`: the function converts its first operand before it
    reads the second (`tf.add(1, x)` fails for a float `x`). Raises OperationError if the two certainly do not agree.
    """
    left, right = first.type.dtype, second.type.dtype
    if not first.known or not second.known:
        known, unknown_side = (first, second) if first.known else (second, first)
        del unknown_side
        return known.type.dtype if known.is_tensor else None
    if (first.is_tensor and second.is_tensor) or (alone and second.is_tensor):
        if left is not None and right is not None and left != right:
            raise OperationError(
                ErrorKind.DTYPE,
                f"{call_name(call)}: {names[0]} has dtype {left} (shape {format_shape(first.type.shape)}), {names[1]} has dtype "
                f"{right} (shape {format_shape(second.type.shape)}); TensorFlow does not promote",
                names,
            )
        return left or right
    if first.is_tensor or second.is_tensor:
        tensor, other = (first, second) if first.is_tensor else (second, first)
        if other.weak and not fits(other, tensor.type.dtype):
            raise OperationError(
                ErrorKind.DTYPE,
                f"{call_name(call)}: a tensor of dtype {tensor.type.dtype} and a Python value of dtype {other.type.dtype}",
                names,
            )
        return tensor.type.dtype
    if left is None or right is None:
        return None
    if first.is_ndarray and second.is_ndarray:
        return left if left == right else None
    if second.weak and not fits(second, left):
        return None
    return left


def _binary(
    allowed: frozenset[DType],
    names: tuple[str, str] = ("x", "y"),
    *,
    gives: DType | None = None,
    quotient: bool = False,
    alone: bool = False,
    operator: str = "",
) -> OperationRule:
    """A function of two tensors that are broadcast. `operator` is the Python operator for arithmetic on contents."""

    def rule(call: BoundCall) -> Value:
        first, second = operand(call.argument(names[0])), operand(call.argument(names[1]))
        if TensorKind.SPARSE in (first.kind, second.kind):
            return UNKNOWN
        dtype = agreed_dtype(call, first, second, alone=alone, names=names)
        if first.is_tensor or second.is_tensor:
            check_dtype(call, dtype, allowed, names[0])
        ragged = TensorKind.RAGGED in (first.kind, second.kind)
        shape: Shape = None
        if ragged:
            if first.kind is TensorKind.RAGGED and second.known and second.type.shape == ():
                shape = first.type.shape
            elif second.kind is TensorKind.RAGGED and first.known and first.type.shape == ():
                shape = second.type.shape
        elif first.known and second.known:
            shape = broadcast_shapes(first.type.shape, second.type.shape, call_name(call), names)
        if quotient:
            dtype = quotient_dtype(dtype)
        content = content_result(operator, first.content, second.content, dtype) if operator else None
        if gives is not None:
            dtype = gives
        return TensorValue(TensorType(dtype, shape), TensorKind.RAGGED if ragged else TensorKind.TENSOR, content)

    return rule


_BINARY: Final[tuple[tuple[OperationRule, str], ...]] = (
    (_binary(NUMERIC | {STRING}, alone=True, operator="+"), "math.add"),
    (_binary(NUMERIC, operator="-"), "math.subtract"),
    (_binary(NUMERIC, operator="*"), "math.multiply"),
    (_binary(NUMERIC, quotient=True), "math.divide_no_nan"),
    (_binary(NUMERIC, quotient=True, operator="/"), "math.divide"),
    (_binary(NUMERIC, quotient=True, alone=True, operator="/"), "math.truediv"),
    (_binary(NUMERIC, operator="//"), "math.floordiv"),
    (_binary(NUMERIC), "truncatediv realdiv"),
    (_binary(_REAL, operator="%"), "math.floormod"),
    (_binary(_REAL), "math.maximum math.minimum truncatemod"),
    (_binary(SIGNED | FLOATING | COMPLEX | {DType("uint8")}), "math.pow"),
    (_binary(frozenset({INT32, INT64}) | FLOATING | COMPLEX), "math.squared_difference"),
    (_binary(_FLOATING_COMPLEX), "math.xlogy math.xlog1py math.xdivy"),
    (_binary(_FLOATING_COMPLEX, alone=True), "math.multiply_no_nan"),
    (_binary(FLOATING, ("y", "x")), "math.atan2"),
    (_binary(FLOATING, ("x", "q")), "math.zeta"),
    (_binary(FLOATING, ("x1", "x2")), "math.nextafter"),
    (_binary(FLOATING, ("a", "x")), "math.igamma math.igammac math.polygamma"),
    (_binary(_REAL, gives=BOOL), "math.less math.less_equal math.greater math.greater_equal"),
    (_binary(ALL, gives=BOOL), "math.equal math.not_equal"),
    (_binary(frozenset({BOOL}), gives=BOOL), "math.logical_and math.logical_or math.logical_xor"),
    (
        _binary(INTEGER),
        "bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift",
    ),
)


def _betainc(call: BoundCall) -> Value:
    operands = [operand(call.argument(name)) for name in ("a", "b", "x")]
    shape: Shape = ()
    for part in operands:
        shape = broadcast_shapes(shape, part.type.shape, call_name(call)) if part.known else None
    return result(next((part.type.dtype for part in operands if part.is_tensor), None), shape)


def _complex(call: BoundCall) -> Value:
    real, imaginary = operand(call.argument("real")), operand(call.argument("imag"))
    dtype = real.type.dtype or imaginary.type.dtype
    shape = broadcast_shapes(real.type.shape, imaginary.type.shape, "complex", ("real", "imag"))
    return result({FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}.get(dtype) if dtype is not None else None, shape)


def _clip_by_value(call: BoundCall) -> Value:
    data = operand(call.argument("t"))
    dtype, shape = data.type.dtype, data.type.shape
    for name in ("clip_value_min", "clip_value_max"):
        bound = operand(call.argument(name))
        if bound.is_tensor and data.is_tensor and None not in (dtype, bound.type.dtype) and dtype != bound.type.dtype:
            raise OperationError(
                ErrorKind.DTYPE, f"clip_by_value: t has dtype {dtype}, {name} has dtype {bound.type.dtype}", ("t", name)
            )
        if data.is_tensor and bound.weak and not fits(bound, dtype):
            raise OperationError(
                ErrorKind.DTYPE,
                f"clip_by_value: t has dtype {dtype}, {name} is a Python value of dtype {bound.type.dtype}",
                ("t", name),
            )
        if bound.known and bound.type.shape != ():
            wide = broadcast_shapes(shape, bound.type.shape, "clip_by_value", ("t", name))
            if compatible(shape, wide) is Truth.NO:
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"clip_by_value: {name} of shape {format_shape(bound.type.shape)} would widen t of shape {format_shape(shape)}",
                    ("t", name),
                )
    if data.kind is TensorKind.INDEXED_SLICES:
        return UNKNOWN
    return result(dtype if data.is_tensor or data.is_ndarray else None, shape)


def _clip_by_norm(call: BoundCall) -> Value:
    data = operand(call.argument("t"))
    return result(data.type.dtype, data.type.shape) if data.kind is not TensorKind.INDEXED_SLICES else UNKNOWN


def _clip_by_global_norm(call: BoundCall) -> Value:
    clipped = call.argument("t_list")
    first = _dtype_of_list(clipped)
    if isinstance(clipped, TupleValue | FrozenList):
        return TupleValue((_dense_list(clipped), result(first, ())))
    return TupleValue((UNKNOWN, result(first, ())))


def _dense_list(values: TupleValue | FrozenList) -> Value:
    def one(value: Value) -> Value:
        if is_none(value) or not isinstance(value, TensorValue):
            return value
        return TensorValue(value.type, TensorKind.TENSOR if value.kind is TensorKind.VARIABLE else value.kind)

    items = values.elements
    if items is None:
        element = values.element if isinstance(values, FrozenList) else None
        return FrozenList(None, None if element is None else one(element))
    return FrozenList(tuple(one(item) for item in items))


def _global_norm(call: BoundCall) -> Value:
    return result(_dtype_of_list(call.argument("t_list")), ())


def _dtype_of_list(values: Value | None) -> DType | None:
    """The dtype of the elements of a list of tensors."""
    known = elements(values)
    if known is None:
        element = values.element if isinstance(values, FrozenList) else None
        return operand(element).type.dtype if isinstance(element, TensorValue) else None
    return operand(known[0]).type.dtype if known else None


def _add_n(call: BoundCall) -> Value:
    items = elements(call.argument("inputs"))
    if items is None:
        values = call.argument("inputs")
        return (
            result(operand(values.element).type.dtype, operand(values.element).type.shape)
            if isinstance(values, FrozenList)
            else result(None)
        )
    shape: Shape = None
    dtype: DType | None = None
    for item in items:
        part = operand(item)
        if part.kind is TensorKind.INDEXED_SLICES:
            return result(part.type.dtype)
        _same_shape(call, shape, part.type.shape, "inputs")
        shape = meet_shapes(shape, part.type.shape)
        if part.is_tensor and dtype is not None and part.type.dtype is not None and part.type.dtype != dtype:
            raise OperationError(ErrorKind.DTYPE, f"add_n: tensors of dtype {dtype} and {part.type.dtype}", ("inputs",))
        if part.is_tensor:
            dtype = dtype or part.type.dtype
    return result(dtype, shape)


def _same_shape(call: BoundCall, left: Shape, right: Shape, name: str) -> None:
    if left is None or right is None:
        return
    if len(left) != len(right):
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: shapes {format_shape(left)} and {format_shape(right)} differ in rank",
            (name,),
        )
    for axis, (a, b) in enumerate(zip(left, right, strict=True)):
        if definitely_different(a, b):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: shapes {format_shape(left)} and {format_shape(right)} differ (axis {axis}: {format_dim(a)} "
                f"and {format_dim(b)})",
                (name,),
            )


# --- reductions -----------------------------------------------------------------------------------------------------------------


def reduction(allowed: frozenset[DType], gives: DType | None = None, *, magnitude: bool = False) -> OperationRule:
    """A reduction over `axis` (all axes if it is None), with `keepdims`; TensorFlow 1's parameter names are accepted."""

    def rule(call: BoundCall) -> Value:
        data = primary(call)
        check_dtype(call, data.type.dtype, allowed, "input_tensor")
        dtype = data.type.dtype or _only(allowed)
        if magnitude and dtype is not None:
            dtype = _MAGNITUDE.get(dtype, dtype)
        return result(gives or dtype, _reduced(call, data.type.shape))

    return rule


def _reduced(call: BoundCall, shape: Shape) -> Shape:
    axis = argument(call, "axis", "reduction_indices", "axes")
    keepdims = flag(argument(call, "keepdims", "keep_dims", "keepdim"), False)
    if axis is None:
        return None if call.incomplete else reduced_shape(shape, None, keepdims, everything=True)
    if shape is None:
        return None
    axes = axes_of(call, axis, shape)
    if axes is not None and len(set(axes)) != len(axes):
        raise OperationError(ErrorKind.SHAPE, f"{call_name(call)}: an axis is named twice in {axes}", ("axis",))
    return reduced_shape(shape, axes, keepdims)


_REDUCTIONS: Final[tuple[tuple[OperationRule, str], ...]] = (
    (reduction(NUMERIC), "math.reduce_sum math.reduce_mean math.reduce_prod math.reduce_euclidean_norm"),
    (reduction(_REAL), "math.reduce_max math.reduce_min"),
    (reduction(_FLOATING_COMPLEX, magnitude=True), "math.reduce_std math.reduce_variance"),
    (reduction(FLOATING), "math.reduce_logsumexp"),
    (reduction(frozenset({BOOL})), "math.reduce_any math.reduce_all"),
)


def _count_nonzero(call: BoundCall) -> Value:
    dtype = dtype_argument(call.argument("dtype")) if not is_none(call.argument("dtype")) else INT64
    return result(dtype, _reduced(call, operand(argument(call, "input", "input_tensor")).type.shape))


def _arg_extreme(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, _REAL | {BOOL}, "input")
    wanted = call.argument("output_type")
    dtype = INT64 if is_none(wanted) else dtype_argument(wanted)
    shape = data.type.shape
    axis_value = argument(call, "axis", "dimension")
    axis = 0 if axis_value is None else integer(axis_value)
    if shape is None or not isinstance(axis, int):
        return result(dtype, None if shape is None or not shape else (None,) * (len(shape) - 1))
    if not shape:
        # a number is returned unchanged
        return result(dtype, ())
    return result(dtype, reduced_shape(shape, (normal_axis(call, axis, shape),), False))


def _scan(allowed: frozenset[DType]) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        data = primary(call)
        check_dtype(call, data.type.dtype, allowed)
        axis = integer(call.argument("axis"))
        if data.type.shape is not None and isinstance(axis, int):
            normal_axis(call, axis, data.type.shape)
        return result(data.type.dtype, data.type.shape)

    return rule


def _along_axis(call: BoundCall) -> Value:
    """Functions such as softmax that compute along an axis and keep the type."""
    data = primary(call)
    check_dtype(call, data.type.dtype, FLOATING, "logits")
    axis = integer(argument(call, "axis", "dim"))
    if data.type.shape is not None and isinstance(axis, int):
        normal_axis(call, axis, data.type.shape)
    return result(data.type.dtype, data.type.shape)


def _l2_normalize(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, _FLOATING_COMPLEX)
    axis = argument(call, "axis", "dim")
    if data.type.shape is not None and axis is not None:
        axes_of(call, axis, data.type.shape)
    return result(data.type.dtype, data.type.shape)


def _top_k(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, _REAL, "input")
    size = integer(call.argument("k"))
    index_type = call.argument("index_type")
    index_dtype = INT32 if is_none(index_type) else dtype_argument(index_type)
    shape = data.type.shape
    if shape is None:
        return _named_pair("TopKV2", ("values", "indices"), result(data.type.dtype), result(index_dtype))
    if not shape:
        raise OperationError(ErrorKind.RANK, f"{call_name(call)}: a number has no last axis", ("input",))
    if isinstance(size, int) and isinstance(shape[-1], int) and size > shape[-1]:
        raise OperationError(
            ErrorKind.SHAPE,
            f"{call_name(call)}: k is {size}, but the last axis of shape {format_shape(shape)} has size {shape[-1]}",
            ("input", "k"),
        )
    taken = (*shape[:-1], size)
    return _named_pair("TopKV2", ("values", "indices"), result(data.type.dtype, taken), result(index_dtype, taken))


def _named_pair(name: str, fields: tuple[str, str], first: Value, second: Value) -> Value:
    return TupleValue((first, second), name, fields)


def _in_top_k(call: BoundCall) -> Value:
    """Predictions (batch, classes) and targets (batch,), in TensorFlow 1's order; its successor has the other order."""
    shapes = [
        shape for name in ("predictions", "targets") if (shape := operand(call.argument(name)).type.shape) is not None
    ]
    ranks = sorted(len(shape) for shape in shapes)
    shown = " and ".join(format_shape(shape) for shape in shapes)
    if not set(ranks) <= {1, 2} or ranks in ([1, 1], [2, 2]):
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: predictions need rank 2 and targets rank 1, these have shape {shown}",
            ("predictions", "targets"),
        )
    if len(shapes) == 2 and definitely_different(shapes[0][0], shapes[1][0]):
        raise OperationError(
            ErrorKind.SHAPE,
            f"{call_name(call)}: predictions and targets of shape {shown} differ in axis 0",
            ("predictions", "targets"),
        )
    sizes = [shape[:1] for shape in shapes]
    return result(BOOL, meet_shapes(*sizes) if len(sizes) == 2 else sizes[0] if sizes else (None,))


def _segment(*, counted: bool) -> OperationRule:
    """Segment reductions: the first axes become segments, whose number depends on data, or is given (`counted`)."""

    def rule(call: BoundCall) -> Value:
        data, ids = operand(call.argument("data")), operand(call.argument("segment_ids"))
        segments = integer(call.argument("num_segments")) if counted else None
        shape, id_shape = data.type.shape, ids.type.shape
        if not counted and id_shape is None:
            id_shape = (None,)
        if shape is None or id_shape is None:
            return result(data.type.dtype)
        if len(id_shape) > len(shape):
            raise OperationError(
                ErrorKind.RANK,
                f"{call_name(call)}: segment_ids {format_shape(id_shape)} has more axes than data {format_shape(shape)}",
                ("data", "segment_ids"),
            )
        for axis, (a, b) in enumerate(zip(shape, id_shape, strict=False)):
            if definitely_different(a, b):
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: data of shape {format_shape(shape)} and segment_ids of shape {format_shape(id_shape)} differ "
                    f"(axis {axis}: {format_dim(a)} and {format_dim(b)})",
                    ("data", "segment_ids"),
                )
        return result(data.type.dtype, (segments, *shape[len(id_shape) :]))

    return rule


def _bincount(call: BoundCall) -> Value:
    axis = call.argument("axis")
    weights = call.argument("weights")
    binary = flag(call.argument("binary_output"), False)
    wanted = call.argument("dtype")
    if binary is None:
        return result(None)
    least, most = integer(call.argument("minlength")), integer(call.argument("maxlength"))
    size = least if isinstance(least, int) and least == most else None
    counts = INT32 if is_none(wanted) else dtype_argument(wanted)
    if not is_none(axis):
        given = operand(call.argument("arr")).type.shape
        rows = (*given[:-1], size) if given is not None and integer(axis) == -1 and 0 < len(given) <= 2 else None
        return result(counts if is_none(weights) else None, rows)
    if not is_none(weights) and not binary:
        return result(operand(weights).type.dtype, (size,))
    return result(counts if is_none(weights) else None, (size,))


def _histogram(call: BoundCall) -> Value:
    bins, wanted = call.argument("nbins"), call.argument("dtype")
    return result(INT32 if is_none(wanted) else dtype_argument(wanted), (100 if is_none(bins) else integer(bins),))


def _confusion_matrix(call: BoundCall) -> Value:
    given, made = (operand(call.argument(name)).type.shape for name in ("labels", "predictions"))
    labels, predictions = without_squeezable(given, made)
    if compatible(labels, predictions) is Truth.NO:
        assert labels is not None and predictions is not None
        raise OperationError(
            ErrorKind.SHAPE if len(labels) == len(predictions) else ErrorKind.RANK,
            f"{call_name(call)}: labels of shape {format_shape(given)} and predictions of shape {format_shape(made)} must have the same "
            "shape",
            ("labels", "predictions"),
        )
    classes = call.argument("num_classes")
    size: Dim = None if is_none(classes) else integer(classes)
    wanted = call.argument("dtype")
    return result(INT32 if is_none(wanted) else dtype_argument(wanted), (size, size))


def _polyval(call: BoundCall) -> Value:
    point = operand(call.argument("x"))
    coefficients = elements(call.argument("coeffs"))
    if coefficients is None:
        return result(point.type.dtype if point.is_tensor else None)
    if not coefficients:
        return result(point.type.dtype if point.is_tensor else None, point.type.shape)
    operands = [operand(item) for item in coefficients]
    shape: Shape = operands[0].type.shape
    dtypes = {part.type.dtype for part in operands if part.is_tensor} | (
        {point.type.dtype} if point.is_tensor else set()
    )
    if len(operands) > 1:
        for part in (*operands, point):
            shape = broadcast_shapes(shape, part.type.shape, "math.polyval", ("coeffs", "x")) if part.known else None
    return result(next(iter(dtypes)) if len(dtypes) == 1 else None, shape)


def _accumulate_n(call: BoundCall) -> Value:
    return _add_n(call)


def _monotone(call: BoundCall) -> Value:
    return result(BOOL, ())


def _invert_permutation(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, frozenset({INT32, INT64}))
    return result(data.type.dtype, data.type.shape)


def _log_beta(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape[:-1] if data.type.shape else data.type.shape)


def _zero_fraction(call: BoundCall) -> Value:
    return result(FLOAT32, ())


def _names(rows: Iterable[tuple[OperationRule, str]]) -> dict[str, OperationRule]:
    return {name: rule for rule, names in rows for name in names.split()}


_PLAIN: Final[dict[str, OperationRule]] = {
    "nn.leaky_relu": _leaky_relu,
    "nn.crelu": _crelu,
    "math.betainc": _betainc,
    "dtypes.complex": _complex,
    "clip_by_value": _clip_by_value,
    "clip_by_norm": _clip_by_norm,
    "clip_by_global_norm": _clip_by_global_norm,
    "linalg.global_norm": _global_norm,
    "math.add_n": _add_n,
    "math.accumulate_n": _accumulate_n,
    "math.count_nonzero": _count_nonzero,
    "math.argmax": _arg_extreme,
    "math.argmin": _arg_extreme,
    "math.cumsum": _scan(NUMERIC),
    "math.cumprod": _scan(NUMERIC),
    "math.cumulative_logsumexp": _scan(FLOATING),
    "nn.softmax": _along_axis,
    "nn.log_softmax": _along_axis,
    "math.l2_normalize": _l2_normalize,
    "math.top_k": _top_k,
    "math.in_top_k": _in_top_k,
    **{f"math.segment_{kind}": _segment(counted=False) for kind in ("sum", "mean", "max", "min", "prod")},
    **{
        f"math.unsorted_segment_{kind}": _segment(counted=True)
        for kind in ("sum", "mean", "max", "min", "prod", "sqrt_n")
    },
    "math.bincount": _bincount,
    "histogram_fixed_width": _histogram,
    "math.confusion_matrix": _confusion_matrix,
    "math.polyval": _polyval,
    "math.is_non_decreasing": _monotone,
    "math.is_strictly_increasing": _monotone,
    "math.invert_permutation": _invert_permutation,
    "math.lbeta": _log_beta,
    "math.zero_fraction": _zero_fraction,
}

_OF_ELEMENTS: Final = {
    f"tensorflow.{name}": rule
    for name, rule in {**_names(_ELEMENTWISE), **_names(_BINARY), "math.negative": _negative}.items()
}
_OF_AXES: Final = {f"tensorflow.{name}": over_rows(rule) for name, rule in _names(_REDUCTIONS).items()}

RULES: Final[Mapping[str, OperationRule]] = {
    **_OF_ELEMENTS,
    **{f"tensorflow.{name}": dense_only(rule) for name, rule in _PLAIN.items()},
    **_OF_AXES,
}
ELEMENTWISE_OPERATIONS: Final = frozenset(_OF_ELEMENTS)
"""Operations that compute each element from the elements at the same place."""
REDUCTIONS: Final = frozenset(_OF_AXES)
