"""`keras.ops` and `keras.backend`: NumPy's functions on tensors.

Computes: output types; shapes by NumPy's rules, dtypes if the operands agree (Keras promotes mixed dtypes by its own
table, which is not modelled). Gives: `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different, multiply
from terra_refactor.domain.dtype import BOOL, FLOAT32, FLOATING, INT32, INTEGER, DType
from terra_refactor.domain.shape import element_count
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenList,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import output_kind
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.numpy_api.elementwise import axes_argument
from terra_refactor.tf_model.ops.conversion import size_value
from terra_refactor.tf_model.spec import BoundCall, OperationRule

DTypeRule = Callable[[DType | None], DType | None]


def _name(call: BoundCall) -> str:
    return call.name.rpartition(".")[2]


def _value(call: BoundCall, *names: str) -> Value | None:
    return read.first_of(call, *(names or ("x", "array", "a", "variable")))


def common_dtype(values: list[Value | None]) -> DType | None:
    """The dtype of operands that agree; Python numbers take that of a floating-point tensor, and ints also that of an
    integer tensor.
    """
    dtypes = {value.type.dtype for value in values if isinstance(value, TensorValue)}
    if len(dtypes) != 1:
        return None
    dtype = next(iter(dtypes))
    for value in values:
        if isinstance(value, TensorValue):
            continue
        if not read.is_number(value) or value is None:
            return None
        kind = read.python_scalar_dtype(value, numpy=False)
        if dtype in FLOATING and kind in (INT32, FLOAT32):
            continue
        if dtype in INTEGER and kind == INT32:
            continue
        return None
    return dtype


def _keep(dtype: DType | None) -> DType | None:
    return dtype


def _floating(dtype: DType | None) -> DType | None:
    return dtype if dtype in FLOATING else None


def _bool(dtype: DType | None) -> DType | None:
    return BOOL


def _unary(dtype_rule: DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        value = _value(call)
        given = read.converted_type(value)
        return read.tensor(dtype_rule(given.dtype), given.shape, output_kind(value))

    return rule


def _binary(dtype_rule: DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        values = [call.argument("x1"), call.argument("x2")]
        if values[0] is None:
            values = [call.argument("x"), call.argument("y")]
        left, right = (read.converted_type(value).shape for value in values)
        shape = shapes.elementwise(_name(call), left, right)
        return read.tensor(dtype_rule(common_dtype(values)), shape, _kind(values))

    return rule


def _kind(values: list[Value | None]) -> TensorKind:
    return output_kind(TupleValue(tuple(value for value in values if value is not None)))


def _reduction(dtype_rule: DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        value = _value(call)
        given = read.converted_type(value)
        axes = axes_argument(call.argument("axis"))
        keep = call.argument("keepdims")
        kept = False if keep is None else read.truth(keep)
        dtype_value = call.argument("dtype")
        dtype = dtype_rule(given.dtype) if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
        if isinstance(axes, bool):
            return read.tensor(dtype, None, output_kind(value))
        if given.shape == () and axes:
            return read.tensor(dtype, None, output_kind(value))
        return read.tensor(dtype, shapes.reduced(_name(call), given.shape, axes, kept), output_kind(value))

    return rule


def _sum_dtype(dtype: DType | None) -> DType | None:
    return dtype if dtype in FLOATING else None


def _index(dtype: DType | None) -> DType | None:
    return INT32


def _reshape(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    target = read.integers(call.argument("newshape") or call.argument("shape"))
    if target is None:
        return read.tensor(given.dtype, None, output_kind(value))
    if sum(1 for size in target if size == -1) > 1:
        return read.tensor(given.dtype, (None,) * len(target), output_kind(value))
    return read.tensor(given.dtype, shapes.reshaped_array("reshape", given.shape, target), output_kind(value))


def _transpose(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    order = call.argument("axes") or call.argument("pattern")
    listed = None if read.is_none(order) else read.integers(order)
    if listed is None and not read.is_none(order):
        return read.tensor(given.dtype, None, output_kind(value))
    return read.tensor(given.dtype, shapes.transposed("transpose", given.shape, listed), output_kind(value))


def _expand(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    axis = call.argument("axis")
    axes = (-1,) if axis is None else axes_argument(axis)
    if axes is None or isinstance(axes, bool):
        return read.tensor(given.dtype, None, output_kind(value))
    return read.tensor(given.dtype, shapes.expanded("expand_dims", given.shape, axes), output_kind(value))


def _squeeze(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    axes = axes_argument(call.argument("axis"))
    if isinstance(axes, bool) or given.shape == ():
        return read.tensor(given.dtype, None, output_kind(value))
    return read.tensor(given.dtype, shapes.squeezed("squeeze", given.shape, axes), output_kind(value))


def _joined(*, new_axis: bool) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        items = read.elements(_value(call, "xs", "x", "tensors"))
        if not items:
            return read.tensor(None, None)
        types = [read.converted_type(item) for item in items]
        if len(items) == 1 and not new_axis:
            return read.tensor(types[0].dtype, types[0].shape, _kind(list(items)))  # for any axis
        axis_value = call.argument("axis")
        default = -1 if call.name == "keras.backend.concatenate" else 0
        axis = default if axis_value is None else read.known_integer(axis_value)
        parts = [item.shape for item in types]
        join = shapes.stacked_arrays if new_axis else shapes.concatenated_arrays
        dtypes = {item.dtype for item in types}
        return read.tensor(
            dtypes.pop() if len(dtypes) == 1 else None, join(_name(call), parts, axis), _kind(list(items))
        )

    return rule


def _split(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    axis_value = call.argument("axis")
    axis = 0 if axis_value is None else read.known_integer(axis_value)
    count = read.known_integer(call.argument("indices_or_sections"))
    if (
        given.shape is None
        or axis is None
        or count is None
        or not 0 < count <= 64
        or read.is_sequence(call.argument("indices_or_sections"))
    ):
        return FrozenList(None, read.tensor(given.dtype, None, output_kind(value)))
    place = shapes.normal_array_axis("split", axis, given.shape)
    size = shapes.split_sizes("split", given.shape[place], count)
    part = read.tensor(given.dtype, (*given.shape[:place], size, *given.shape[place + 1 :]), output_kind(value))
    return FrozenList((part,) * count)


def _matmul(call: BoundCall) -> Value:
    values = [call.argument("x1"), call.argument("x2")]
    left, right = (read.converted_type(value).shape for value in values)
    if left == () or right == ():
        return read.tensor(common_dtype(values), None, _kind(values))
    return read.tensor(common_dtype(values), shapes.matrix_product("matmul", left, right), _kind(values))


def _cast(call: BoundCall) -> Value:
    value = _value(call)
    shape = read.converted_type(value).shape
    return read.tensor(read.dtype_argument(call.argument("dtype")), shape, output_kind(value))


def _converted(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    dtype_value = call.argument("dtype")
    dtype = (
        read.dtype_argument(dtype_value)
        if not read.is_none(dtype_value)
        else given.dtype
        if isinstance(value, TensorValue)
        else None
    )
    return read.tensor(dtype, given.shape, output_kind(value))


def _filled(call: BoundCall) -> Value:
    dtype_value = call.argument("dtype")
    dtype = FLOAT32 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    return read.tensor(dtype, read.shape_argument(call.argument("shape")))


def _like(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    dtype_value = call.argument("dtype")
    dtype = given.dtype if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    return read.tensor(dtype if isinstance(value, TensorValue) else None, given.shape, output_kind(value))


def _take(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    chosen = read.converted_type(call.argument("indices")).shape
    axis_value = call.argument("axis")
    if read.is_none(axis_value):
        return read.tensor(given.dtype, chosen, output_kind(value))
    axis = read.known_integer(axis_value)
    if not given.shape or chosen is None or axis is None:
        return read.tensor(given.dtype, None, output_kind(value))
    place = shapes.normal_array_axis("take", axis, given.shape)
    return read.tensor(given.dtype, (*given.shape[:place], *chosen, *given.shape[place + 1 :]), output_kind(value))


def _one_hot(call: BoundCall) -> Value:
    value = _value(call)
    shape = read.converted_type(value).shape
    axis_value = call.argument("axis")
    axis = -1 if axis_value is None else read.known_integer(axis_value)
    dtype_value = call.argument("dtype")
    dtype = FLOAT32 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    depth = read.integer(call.argument("num_classes"))
    if shape is None or axis != -1:
        return read.tensor(dtype, None, output_kind(value))
    return read.tensor(dtype, (*shape, depth), output_kind(value))


def _repeat(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    count = read.integer(call.argument("repeats"))
    axis_value = call.argument("axis")
    if given.shape is None:
        return read.tensor(given.dtype, None, output_kind(value))
    if read.is_none(axis_value):
        return read.tensor(given.dtype, (multiply(element_count(given.shape), count),), output_kind(value))
    axis = read.known_integer(axis_value)
    if axis is None or not given.shape:
        return read.tensor(given.dtype, None, output_kind(value))
    place = shapes.normal_array_axis("repeat", axis, given.shape)
    sizes = list(given.shape)
    sizes[place] = multiply(sizes[place], count)
    return read.tensor(given.dtype, tuple(sizes), output_kind(value))


def _tile(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    return read.tensor(
        given.dtype, shapes.tiled(given.shape, read.integers(call.argument("repeats"))), output_kind(value)
    )


def _broadcast_to(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    return read.tensor(given.dtype, read.shape_argument(call.argument("shape")), output_kind(value))


def _shape(call: BoundCall) -> Value:
    """`keras.ops.shape(x)`: a tuple of sizes."""
    shape = read.converted_type(_value(call)).shape
    if shape is None:
        return UNKNOWN
    return TupleValue(tuple(size_value(dim) if dim is not None else UNKNOWN for dim in shape))


def _size(call: BoundCall) -> Value:
    shape = read.converted_type(_value(call)).shape
    count = None if shape is None else element_count(shape)
    return TensorValue(TensorType(INT32, ()), content=None if count is None else size_value(count))


def _shape_tensor(call: BoundCall) -> Value:
    """`keras.backend.shape(x)`: like `tf.shape`."""
    shape = read.converted_type(_value(call)).shape
    if shape is None:
        return read.tensor(INT32, (None,))
    return TensorValue(TensorType(INT32, (len(shape),)), content=TupleValue(tuple(size_value(dim) for dim in shape)))


def _to_numpy(call: BoundCall) -> Value:
    given = read.converted_type(_value(call))
    return TensorValue(
        given if isinstance(_value(call), TensorValue) else type(given)(None, given.shape), TensorKind.NDARRAY
    )


def _where(call: BoundCall) -> Value:
    values = [call.argument("x1"), call.argument("x2")]
    if any(read.is_none(value) for value in values):
        return UNKNOWN
    whole = shapes.elementwise("where", *(read.converted_type(value).shape for value in values))
    whole = shapes.elementwise("where", whole, read.converted_type(call.argument("condition")).shape)
    return read.tensor(common_dtype(values), whole, _kind([call.argument("condition"), *values]))


def _triangular(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    shape = given.shape if given.shape is None or len(given.shape) >= 2 else None
    return read.tensor(given.dtype, shape, output_kind(value))


def _flatten(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    return read.tensor(given.dtype, (None if given.shape is None else element_count(given.shape),), output_kind(value))


def _batch_flatten(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    rest: Dim = None if not given.shape else element_count(given.shape[1:])
    return read.tensor(given.dtype, (None, rest), output_kind(value))


def _ndim(call: BoundCall) -> Value:
    """`keras.backend.ndim(x)`."""
    shape = read.converted_type(_value(call)).shape
    return Scalar(PythonType.INT) if shape is None else Constant(len(shape))


def _is_sparse(call: BoundCall) -> Value:
    """`keras.backend.is_sparse(tensor)`."""
    value = read.first_of(call, "tensor", "x")
    return Constant(value.kind is TensorKind.SPARSE) if isinstance(value, TensorValue) else Scalar(PythonType.BOOL)


def _int_shape(call: BoundCall) -> Value:
    """`keras.backend.int_shape(x)`: a tuple with None for unknown sizes."""
    value = _value(call)
    shape = read.converted_type(value).shape
    if shape is None:
        return UNKNOWN
    return TupleValue(tuple(Constant(dim) if isinstance(dim, int) else UNKNOWN for dim in shape))


def _clip(call: BoundCall) -> Value:
    value = _value(call)
    given = read.converted_type(value)
    return read.tensor(given.dtype if given.dtype in FLOATING else None, given.shape, output_kind(value))


def _einsum(call: BoundCall) -> Value:
    """`keras.ops.einsum(subscripts, *operands)` with an explicit output and no ellipsis."""
    equation = read.text(call.argument("subscripts")) or (
        read.text(call.extra_arguments[0]) if call.extra_arguments else None
    )
    operands = [value for value in call.extra_arguments if read.text(value) is None]
    dtype = common_dtype(list(operands)) if operands else None
    dtype = dtype if dtype in FLOATING else None
    unknown = read.tensor(dtype, None, _kind(list(operands)))
    if equation is None or "->" not in equation or "." in equation:
        return unknown
    left, _, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        return unknown
    sizes: dict[str, Dim] = {}
    for term, value in zip(terms, operands, strict=True):
        shape = read.converted_type(value).shape
        if shape is None:
            continue
        if len(shape) != len(term):
            return unknown
        for label, size in zip(term, shape, strict=True):
            known = sizes.get(label)
            if known is None or known == 1:
                sizes[label] = size
            elif definitely_different(known, size) and size != 1:
                return unknown
    return read.tensor(dtype, tuple(sizes.get(label) for label in output), unknown.kind)


def _probability_loss(*, reduced: bool) -> OperationRule:
    """`keras.backend.binary_crossentropy(target, output)`: a value for each element; `categorical_crossentropy`: one
    for each row.
    """

    def rule(call: BoundCall) -> Value:
        values = [call.argument("target"), call.argument("output")]
        shape = shapes.elementwise(_name(call), *(read.converted_type(value).shape for value in values))
        if reduced:
            axis = call.argument("axis")
            axes = (-1,) if axis is None else axes_argument(axis)
            shape = None if not shape or isinstance(axes, bool) else shapes.reduced(_name(call), shape, axes, False)
        dtype = common_dtype(values)
        return read.tensor(dtype if dtype in FLOATING else None, shape, _kind(values))

    return rule


_FLOAT_UNARY: Final = (
    "exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh log1p expm1 log2 log10 rsqrt erf erfinv "
    "sigmoid relu relu6 softplus softsign silu gelu elu selu leaky_relu hard_sigmoid hard_silu log_sigmoid "
    "softmax log_softmax celu normalize ceil floor round"
)
_KEEP_UNARY: Final = "abs absolute negative square sign flip roll stop_gradient copy cumsum cumprod sort conj"
_BOOL_UNARY: Final = "isnan isinf isfinite logical_not"
_KEEP_BINARY: Final = "add subtract multiply maximum minimum"
_FLOAT_BINARY: Final = "divide true_divide power floor_divide mod divide_no_nan arctan2 logaddexp"
_BOOL_BINARY: Final = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor isclose"


def _numeric(dtype: DType | None) -> DType | None:
    return None if dtype == BOOL else dtype


def _rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    tables: tuple[tuple[str, OperationRule], ...] = (
        (_FLOAT_UNARY, _unary(_floating)),
        (_KEEP_UNARY, _unary(_numeric)),
        (_BOOL_UNARY, _unary(_bool)),
        (_KEEP_BINARY, _binary(_numeric)),
        (_FLOAT_BINARY, _binary(_floating)),
        (_BOOL_BINARY, _binary(_bool)),
        ("mean var std median logsumexp norm", _reduction(_floating)),
        ("sum prod", _reduction(_sum_dtype)),
        ("max min amax amin", _reduction(_numeric)),
        ("all any", _reduction(_bool)),
        ("argmax argmin", _reduction(_index)),
        ("zeros ones empty", _filled),
        ("zeros_like ones_like full_like", _like),
        ("reshape", _reshape),
        ("transpose", _transpose),
        ("expand_dims", _expand),
        ("squeeze", _squeeze),
        ("concatenate", _joined(new_axis=False)),
        ("stack", _joined(new_axis=True)),
        ("split", _split),
        ("matmul", _matmul),
        ("cast", _cast),
        ("convert_to_tensor", _converted),
        ("convert_to_numpy", _to_numpy),
        ("take", _take),
        ("one_hot", _one_hot),
        ("repeat", _repeat),
        ("tile", _tile),
        ("broadcast_to", _broadcast_to),
        ("shape", _shape),
        ("size", _size),
        ("where", _where),
        ("tril triu", _triangular),
        ("ravel", _flatten),
        ("clip", _clip),
        ("einsum", _einsum),
        ("cholesky", _unary(_floating)),
    )
    for names, rule in tables:
        for name in names.split():
            rules[f"keras.ops.{name}"] = rule
    legacy: tuple[tuple[str, OperationRule], ...] = (
        (
            "abs exp log sqrt sin cos sigmoid tanh relu softmax softplus softsign elu hard_sigmoid square",
            _unary(_floating),
        ),
        ("sum mean max min std var", _reduction(_floating)),
        ("reshape", _reshape),
        ("expand_dims", _expand),
        ("squeeze", _squeeze),
        ("concatenate", _joined(new_axis=False)),
        ("stack", _joined(new_axis=True)),
        ("cast", _cast),
        ("flatten", _flatten),
        ("batch_flatten", _batch_flatten),
        ("int_shape", _int_shape),
        ("is_sparse", _is_sparse),
        ("ndim", _ndim),
        ("shape", _shape_tensor),
        ("clip", _clip),
        ("zeros_like ones_like", _like),
        ("equal not_equal less less_equal greater greater_equal", _binary(_bool)),
        ("maximum minimum", _binary(_numeric)),
        ("stop_gradient", _unary(_keep)),
        ("permute_dimensions", _transpose),
        ("binary_crossentropy", _probability_loss(reduced=False)),
        ("categorical_crossentropy", _probability_loss(reduced=True)),
    )
    for names, rule in legacy:
        for name in names.split():
            rules[f"keras.backend.{name}"] = rule
    return rules


RULES: Final[Mapping[str, OperationRule]] = _rules()
