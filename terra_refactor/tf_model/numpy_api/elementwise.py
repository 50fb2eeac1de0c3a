"""NumPy's element-wise functions and reductions, and the equivalent methods of ndarrays.

Computes: output types. Gives: `RULES`.

Source: NumPy 2, type tables of its ufuncs. Results of rank 0 are NumPy scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, add, multiply
from terra_refactor.domain.dtype import BOOL, FLOAT64, FLOATING, INT64, UINT64, DType
from terra_refactor.domain.lattice import join
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import UNKNOWN, UNKNOWN_INT, Reference, TensorValue, TupleValue, UnknownValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.numpy_api.arrays import (
    array,
    array_operand,
    array_result,
    broadcast_all,
    dtype_setting,
    float_dtype,
    integer_content,
    mean_dtype,
    numeric_or_none,
    promoted,
    sum_dtype,
)
from terra_refactor.tf_model.numpy_dtypes import numpy_common, numpy_result, real_dtype
from terra_refactor.tf_model.ops.conversion import size_value
from terra_refactor.tf_model.spec import BoundCall, OperationRule

_DTypeRule = Callable[[DType | None], DType | None]


def _keep(dtype: DType | None) -> DType | None:
    return numeric_or_none(dtype)


def _always_bool(dtype: DType | None) -> DType | None:
    return BOOL


def _as_operator(symbol: str) -> _DTypeRule:
    """The dtype of a function that is equivalent to an operator."""
    return lambda dtype: numpy_result(symbol, dtype)


def _floated(dtype: DType | None) -> DType | None:
    return float_dtype(numeric_or_none(dtype))


def _absolute(dtype: DType | None) -> DType | None:
    return real_dtype(numeric_or_none(dtype))


def _function_name(call: BoundCall) -> str:
    return call.name.rpartition(".")[2]


def _out(call: BoundCall) -> Value | None:
    """The array passed as `out`, which is the result."""
    out = call.argument("out")
    return out if isinstance(out, TensorValue) else None


def _unary(dtype_rule: _DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        value = read.first_of(call, "x", "a", "z", "val", "m", "f")
        given = array_operand(value).type
        out = _out(call)
        if out is not None:
            return out
        return array_result(dtype_setting(call, dtype_rule(given.dtype)), given.shape)

    return rule


def _binary(dtype_rule: _DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        left, right = array_operand(call.argument("x1")), array_operand(call.argument("x2"))
        shape = broadcast_all(_function_name(call), [left.type.shape, right.type.shape])
        out = _out(call)
        if out is not None:
            return out
        return array_result(dtype_setting(call, numpy_common([left.choice, right.choice], dtype_rule)), shape)

    return rule


def binary_shape(call: BoundCall, left: str, right: str) -> Shape:
    """The broadcast of two arguments."""
    return broadcast_all(
        _function_name(call),
        [array_operand(call.argument(left)).type.shape, array_operand(call.argument(right)).type.shape],
    )


def axes_argument(value: Value | None) -> tuple[int, ...] | bool | None:
    """The `axis` of a reduction: a tuple, None for all axes, False if unknown."""
    if read.is_none(value):
        return None
    listed = read.integers(value) if not isinstance(value, TensorValue) else None
    if listed is not None:
        known = tuple(axis for axis in listed if isinstance(axis, int))
        return known if len(known) == len(listed) else False
    single = read.known_integer(value)
    return False if single is None else (single,)


def _source(call: BoundCall) -> Value | None:
    """The array argument of a function, or the receiver of the method."""
    if call.receiver is not None:
        return call.receiver
    return read.first_of(call, "a", "x", "m", "arr", "ary", "array", "v", "object")


def keepdims_argument(call: BoundCall) -> bool | None:
    """`keepdims`, False by default."""
    value = call.argument("keepdims")
    if value is None:
        value = call.extra_keywords.get("keepdims")
    if value is None or read.is_none(value):
        return False
    if isinstance(value, TensorValue):
        return None
    return read.truth(value) if read.truth(value) is not None else (False if read.integer(value) == 0 else None)


def _reduction(dtype_rule: _DTypeRule, *, index: bool = False) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        value = _source(call)
        given = array_operand(value).type
        axes = axes_argument(call.argument("axis"))
        out = _out(call)
        if out is not None:
            return out
        dtype = dtype_rule(given.dtype)
        if not index:
            dtype = dtype_setting(call, dtype)
        keep = keepdims_argument(call)
        if isinstance(axes, bool):
            # over all axes it is a scalar
            return (
                join(array_result(dtype, None), array_result(dtype, ())) if keep is False else array_result(dtype, None)
            )
        if given.shape == () and keep is not False:
            return UNKNOWN  # a scalar or an array, it depends on the function
        shape = shapes.reduced(_function_name(call), given.shape, axes, keep)
        if shape == () and isinstance(value, UnknownValue | Reference) and _function_name(call) in _HANDED_ON:
            return array_result(dtype, None)  # of a table it may be one number for each column
        return array_result(dtype, shape)

    return rule


def _with_content(rule: OperationRule, combine: Callable[[Dim, Dim], Dim], start: int) -> OperationRule:
    """Sums and products of a few known ints, such as `np.prod(x.shape[1:])`."""

    def exact(call: BoundCall) -> Value:
        outcome = rule(call)
        if (
            not isinstance(outcome, TensorValue)
            or outcome.type.shape != ()
            or outcome.type.dtype not in (INT64, UINT64)
        ):
            return outcome
        sizes = integer_content(_source(call))
        if sizes is None or not read.is_none(call.argument("initial")):
            return outcome
        total: Dim = start
        for size in sizes:
            total = combine(total, size)
        return TensorValue(outcome.type, outcome.kind, size_value(total))

    return exact


def _counted(rule: OperationRule) -> OperationRule:
    """`numpy.count_nonzero` of a whole array, which is a Python int in older versions."""

    def count(call: BoundCall) -> Value:
        outcome = rule(call)
        whole = read.is_none(call.argument("axis")) and isinstance(outcome, TensorValue) and outcome.type.shape == ()
        return join(outcome, UNKNOWN_INT) if whole else outcome

    return count


def _cumulative(dtype_rule: _DTypeRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        given = array_operand(_source(call)).type
        dtype = dtype_setting(call, dtype_rule(given.dtype))
        if read.is_none(call.argument("axis")):
            count: Dim = None
            if given.shape is not None:
                count = 1
                for size in given.shape:
                    count = multiply(count, size)
            return array(dtype, (count,))
        if read.may_be_none(call.argument("axis")):
            return array(dtype, None)
        axis = read.known_integer(call.argument("axis"))
        if axis is not None and given.shape:
            shapes.normal_array_axis(_function_name(call), axis, given.shape)
        return array(dtype, given.shape if given.shape != () else (1,))

    return rule


def _quantile(call: BoundCall) -> Value:
    """`numpy.percentile`, `numpy.quantile`: the axes of `q` come first."""
    given = array_operand(call.argument("a")).type
    places = array_operand(call.argument("q")).type.shape
    axes = axes_argument(call.argument("axis"))
    dtype = given.dtype if given.dtype in FLOATING else mean_dtype(given.dtype)
    if dtype != FLOAT64:
        dtype = None
    if isinstance(axes, bool) or places is None:
        return array_result(dtype, None)
    shape = shapes.reduced(_function_name(call), given.shape, axes, keepdims_argument(call))
    return array_result(dtype, None if shape is None else (*places, *shape))


def _average(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    axes = axes_argument(call.argument("axis"))
    returned = call.argument("returned")
    if returned is not None and read.truth(returned) is not False:
        return UNKNOWN
    weights = call.argument("weights")
    dtype = mean_dtype(given.dtype)
    if not read.is_none(weights):
        dtype = dtype if dtype == FLOAT64 else None
    if isinstance(axes, bool):
        return array_result(dtype, None)
    return array_result(dtype, shapes.reduced("average", given.shape, axes, keepdims_argument(call)))


def _where(call: BoundCall) -> Value:
    condition = array_operand(call.argument("condition"))
    choices = call.argument("x"), call.argument("y")
    # NumPy accepts both or neither
    if any(map(read.is_none, choices)) and all(map(read.may_be_none, choices)):
        if call.incomplete:
            return UNKNOWN
        if condition.type.shape is None:
            return UNKNOWN
        from_rank = max(len(condition.type.shape), 1)
        return TupleValue((array(INT64, (None,)),) * from_rank)
    left, right = array_operand(call.argument("x")), array_operand(call.argument("y"))
    shape = broadcast_all("where", [condition.type.shape, left.type.shape, right.type.shape])
    return array(promoted([left, right]), shape)


def _clip(call: BoundCall) -> Value:
    value = _source(call)
    low = call.argument("a_min") if call.argument("a_min") is not None else call.argument("min")
    high = call.argument("a_max") if call.argument("a_max") is not None else call.argument("max")
    bounds = [array_operand(bound) for bound in (low, high) if not read.is_none(bound)]
    out = _out(call)
    if out is not None:
        return out
    operands = [array_operand(value), *bounds]
    return array_result(
        numeric_or_none(promoted(operands)), broadcast_all("clip", [item.type.shape for item in operands])
    )


def _isclose(call: BoundCall) -> Value:
    return array_result(BOOL, binary_shape(call, "a", "b"))


def _isin(call: BoundCall) -> Value:
    return array(BOOL, array_operand(read.first_of(call, "element", "ar1")).type.shape)


def _part(call: BoundCall) -> Value:
    """`numpy.real`, `numpy.imag`; for a Python number a Python number."""
    value = call.argument("val")
    return _unary(_absolute)(call) if isinstance(value, TensorValue) and value.type.shape != () else UNKNOWN


def _frexp(call: BoundCall) -> Value:
    given = array_operand(call.argument("x")).type
    return TupleValue((array_result(_floated(given.dtype), given.shape), array_result(None, given.shape)))


def _rounded(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    out = _out(call)
    if out is not None:
        return out
    return array_result(numeric_or_none(given.dtype) if given.dtype != BOOL else None, given.shape)


def _same_or_none(dtype: DType | None) -> DType | None:
    return None if dtype == BOOL else numeric_or_none(dtype)


_FLOAT_FUNCTIONS: Final = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "arcsin",
    "arccos",
    "arctan",
    "arcsinh",
    "arccosh",
    "arctanh",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
)
_SAME_FUNCTIONS: Final = (
    "square",
    "conjugate",
)
_BOOL_FUNCTIONS: Final = (
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "logical_not",
    "signbit",
    "iscomplex",
    "isreal",
)
_ROUNDING: Final = (
    "ceil",
    "floor",
    "trunc",
)
_ARITHMETIC: Final = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
)
_COMPARING: Final = (
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
)
_FLOAT_BINARY: Final = (
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "nextafter",
)
_BITS: Final = (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
)


def _whole(dtype: DType | None) -> DType | None:
    """`ceil`, `floor`, `trunc` keep integers since NumPy 2.1, and convert them to floats before."""
    return dtype if dtype in FLOATING else None


_REDUCTIONS: Final[Mapping[str, _DTypeRule]] = {
    "sum": sum_dtype,
    "prod": sum_dtype,
    "nansum": sum_dtype,
    "nanprod": sum_dtype,
    "mean": mean_dtype,
    "nanmean": mean_dtype,
    "median": mean_dtype,
    "nanmedian": mean_dtype,
    "std": lambda dtype: real_dtype(mean_dtype(dtype)),
    "var": lambda dtype: real_dtype(mean_dtype(dtype)),
    "nanstd": lambda dtype: real_dtype(mean_dtype(dtype)),
    "nanvar": lambda dtype: real_dtype(mean_dtype(dtype)),
    "max": _keep,
    "min": _keep,
    "amax": _keep,
    "amin": _keep,
    "nanmax": _keep,
    "nanmin": _keep,
    "ptp": _same_or_none,
    "all": _always_bool,
    "any": _always_bool,
}
_HANDED_ON: Final = frozenset({"sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "all", "any", "ptp"})
"""Functions that call the method of that name of an object that is no array. Source: `numpy._core.fromnumeric._wrapreduction`."""
_METHODS: Final = ("sum", "prod", "mean", "std", "var", "max", "min", "all", "any")


def _index_dtype(dtype: DType | None) -> DType | None:
    return INT64


def _rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    unary: tuple[tuple[Sequence[str], _DTypeRule], ...] = (
        (_FLOAT_FUNCTIONS, _floated),
        (_SAME_FUNCTIONS, _same_or_none),
        (_BOOL_FUNCTIONS, _always_bool),
        (_ROUNDING, _whole),
        (["absolute"], _absolute),
        (["negative", "positive", "sign", "reciprocal"], _same_or_none),
        (["nan_to_num"], _same_or_none),
        (["rint"], _whole),
    )
    for names, dtype_rule in unary:
        for name in names:
            rules[f"numpy.{name}"] = _unary(dtype_rule)
    rules["numpy.fabs"] = _unary(_floated)
    binary: tuple[tuple[Sequence[str], _DTypeRule], ...] = (
        (_ARITHMETIC, _keep),
        (["subtract"], _as_operator("-")),
        (["divide"], _as_operator("/")),
        (["floor_divide"], _as_operator("//")),
        (["remainder", "fmod"], _as_operator("%")),
        (["power"], _as_operator("**")),
        (_COMPARING, _always_bool),
        (_FLOAT_BINARY, _floated),
        (_BITS, _as_operator("&")),
    )
    for names, dtype_rule in binary:
        for name in names:
            rules[f"numpy.{name}"] = _binary(dtype_rule)
    for name, reduced_dtype in _REDUCTIONS.items():
        rules[f"numpy.{name}"] = _reduction(reduced_dtype)
    for name, combine, start in (("prod", multiply, 1), ("sum", add, 0)):
        rules[f"numpy.{name}"] = _with_content(rules[f"numpy.{name}"], combine, start)
    for name in _METHODS:
        rules[f"numpy.ndarray.{name}"] = rules[f"numpy.generic.{name}"] = rules[f"numpy.{name}"]
    for name in ("argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero"):
        rules[f"numpy.{name}"] = _reduction(_index_dtype, index=True)
    rules["numpy.count_nonzero"] = _counted(rules["numpy.count_nonzero"])
    for name in ("argmax", "argmin"):
        rules[f"numpy.ndarray.{name}"] = rules[f"numpy.{name}"]
    for name in ("cumsum", "cumprod", "nancumsum"):
        rules[f"numpy.{name}"] = _cumulative(sum_dtype)
    for name in ("cumsum", "cumprod"):
        rules[f"numpy.ndarray.{name}"] = rules[f"numpy.{name}"]
    for name in ("percentile", "quantile", "nanpercentile", "nanquantile"):
        rules[f"numpy.{name}"] = _quantile
    for name in ("round", "around"):
        rules[f"numpy.{name}"] = _rounded
    rules["numpy.ndarray.round"] = _rounded
    rules["numpy.real"] = rules["numpy.imag"] = _part
    rules["numpy.average"] = _average
    rules["numpy.where"] = _where
    rules["numpy.clip"] = rules["numpy.ndarray.clip"] = _clip
    rules["numpy.isclose"] = _isclose
    rules["numpy.isin"] = rules["numpy.in1d"] = _isin
    rules["numpy.frexp"] = _frexp
    return rules


RULES: Final[Mapping[str, OperationRule]] = _rules()
