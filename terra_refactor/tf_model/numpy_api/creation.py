"""NumPy functions that create arrays: filled, from Python values, or random.

Computes: output types, and the content of small arrays. Gives: `RULES`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, subtract
from terra_refactor.domain.dtype import BOOL, FLOAT64, INT32, INT64, INTEGER, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    DTypeValue,
    LibraryValue,
    PythonType,
    Scalar,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.numpy_api.arrays import (
    array,
    array_operand,
    array_result,
    broadcast_all,
    content_of,
    dtype_setting,
    promoted,
    promoted_strong,
)
from terra_refactor.tf_model.numpy_api.files import LOADED
from terra_refactor.tf_model.ops.conversion import CONTENT_LIMIT
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_OBJECTS: Final = (
    LibraryValue("builtins.object"),
    LibraryValue("numpy.object_"),
    Constant("object"),
    Constant("O"),
)
"""The dtype of object arrays. An element may be an array itself, and so may a sum of elements, so the elements are unknown."""


def _first(call: BoundCall) -> Value | None:
    return read.first_of(call, "object", "a", "prototype", "x", "m")


def _array(call: BoundCall) -> Value:
    """`numpy.array`, `numpy.asarray`: the dtype of the content unless one is given."""
    value = _first(call)
    if value is None:
        return array(None, None)
    given = read.converted_type(value, numpy=True)
    least = call.argument("ndmin")
    shape = given.shape
    if least is not None:
        rank = read.known_integer(least)
        if rank is None:
            shape = None
        elif shape is not None:
            shape = (1,) * (rank - len(shape)) + shape
    dtype = dtype_setting(call, given.dtype)
    asked = call.argument("dtype")
    if (
        dtype is None
        and not read.is_none(asked)
        and any(isinstance(row, TupleValue) for row in read.elements(value) or ())
    ):
        # probably fields of a structured dtype: then a tuple is one element and not an axis
        return array(None, None)
    if asked in _OBJECTS:
        return UNKNOWN
    content = content_of(value) if shape == given.shape and _keeps_content(given.dtype, dtype) else None
    return array(dtype, shape, content)


def _keeps_content(source: DType | None, target: DType | None) -> bool:
    return source == target or (source in INTEGER and target in (INT32, INT64))


def _filled(default: DType | None) -> OperationRule:
    """`numpy.zeros(shape, dtype)` and similar functions."""

    def rule(call: BoundCall) -> Value:
        shape = _new_shape(call.name, call.argument("shape"))
        if call.argument("dtype") in _OBJECTS:
            return UNKNOWN
        return array(dtype_setting(call, default), shape)

    return rule


def _new_shape(name: str, value: Value | None) -> Shape:
    known = read.integers(value)
    if known is None:
        single = read.integer(value)
        if (
            single is None
            and not isinstance(value, Scalar)
            and not (isinstance(value, TensorValue) and value.type.shape == ())
        ):
            return None
        known = (single,)
    if any(isinstance(size, int) and size < 0 for size in known):
        raise OperationError(ErrorKind.SHAPE, f"{name}: negative size in {known}", ("shape",))
    return known


def _full(call: BoundCall) -> Value:
    fill = array_operand(call.argument("fill_value")).type
    shape = _new_shape(call.name, call.argument("shape"))
    if call.argument("dtype") in _OBJECTS:
        return UNKNOWN
    return array(dtype_setting(call, fill.dtype), shape)


def _like(call: BoundCall) -> Value:
    """`numpy.zeros_like(a, dtype=None, shape=None)`."""
    given = array_operand(_first(call)).type
    shape_value = call.argument("shape")
    shape = given.shape if read.is_none(shape_value) else _new_shape(call.name, shape_value)
    return array(dtype_setting(call, given.dtype), shape)


def _arange(call: BoundCall) -> Value:
    first = read.first_of(call, "start_or_stop", "start")
    second, third = call.argument("stop"), call.argument("step")
    if first is None:
        first, second = second, None
    bounds = [bound for bound in (first, second, third) if bound is not None and not read.is_none(bound)]
    dtype = dtype_setting(call, promoted([array_operand(bound) for bound in bounds]))
    if dtype == BOOL:
        dtype = None
    if read.is_none(second):
        start: Value | None = Constant(0)
        stop: Value | None = first
    else:
        start, stop = first, second
    low, high, step = read.number(start), read.number(stop), 1 if read.is_none(third) else read.number(third)
    if isinstance(low, int) and isinstance(high, int) and isinstance(step, int):
        if step == 0:
            raise OperationError(ErrorKind.SHAPE, "arange: step is 0", ("step",))
        whole = range(low, high, step)
        content: Value | None = None
        if len(whole) <= CONTENT_LIMIT and dtype in (INT64, INT32):
            content = TupleValue(tuple(Constant(number) for number in whole))
        return array(dtype, (len(whole),), content)
    if low is None or high is None or step is None:
        if low == 0 and step == 1:
            size = read.integer(stop)
            return array(dtype, (size,))
        if (
            step == 1
            and read.integer(start) is not None
            and isinstance(size := subtract(read.integer(stop), read.integer(start)), int)
        ):
            return array(dtype, (max(size, 0),))
        return array(dtype, (None,))
    # NumPy counts in double precision, whatever the dtype
    try:
        return array(dtype, (max(0, math.ceil((high - low) / step)),))
    except (OverflowError, ValueError, ZeroDivisionError):
        return array(dtype, (None,))


def _linspace(call: BoundCall) -> Value:
    count = Constant(50) if call.argument("num") is None else call.argument("num")
    ends = [array_operand(call.argument("start")), array_operand(call.argument("stop"))]
    shape = broadcast_all("linspace", [end.type.shape for end in ends])
    common = promoted(ends)
    dtype = None if common is None else (FLOAT64 if common in INTEGER or common == BOOL else common)
    dtype = dtype_setting(call, dtype if dtype == FLOAT64 else None)
    axis = call.argument("axis")
    is_first = axis is None or read.known_integer(axis) == 0
    samples = array(dtype, None if shape is None or not is_first else (read.size(count), *shape))
    step = call.argument("retstep")
    if step is None or read.truth(step) is False:
        return samples
    return UNKNOWN if read.truth(step) is None else TupleValue((samples, UNKNOWN))


def _logspace(call: BoundCall) -> Value:
    count = Constant(50) if call.argument("num") is None else call.argument("num")
    ends = [array_operand(call.argument("start")), array_operand(call.argument("stop"))]
    scalar = all(end.type.shape == () for end in ends)
    return array(dtype_setting(call, None), (read.size(count),) if scalar else None)


def _eye(call: BoundCall) -> Value:
    rows = read.size(read.first_of(call, "N", "n"))
    columns = rows if read.is_none(call.argument("M")) else read.size(call.argument("M"))
    return array(dtype_setting(call, FLOAT64), (rows, columns))


def _window(call: BoundCall) -> Value:
    """`numpy.hanning(M)` and similar functions: M weights; none if M is negative."""
    count = read.size(call.argument("M"))
    return array(FLOAT64, (0 if isinstance(count, int) and count < 0 else count,))


def _scalar_type(dtype: DType) -> OperationRule:
    """`numpy.float32(x)`: a scalar of that type; an array for an array."""

    def rule(call: BoundCall) -> Value:
        value = read.first_of(call, "value", "x", "object")
        if value is None:
            return UNKNOWN if call.incomplete else array_result(dtype, ())
        given = read.converted_type(value, numpy=True)
        kept = content_of(value) if given.shape == () and given.dtype in INTEGER and dtype in INTEGER else None
        outcome = array_result(dtype, given.shape)
        return TensorValue(outcome.type, outcome.kind, kept)

    return rule


def _dtype(call: BoundCall) -> Value:
    return DTypeValue(read.dtype_argument(read.first_of(call, "dtype")))


def _result_type(call: BoundCall) -> Value:
    parts: list[DType | None] = []
    for value in call.extra_arguments:
        parts.append(value.type.dtype if isinstance(value, TensorValue) else read.dtype_argument(value))
    return DTypeValue(promoted_strong(parts) if parts else None)


def _sized(value: Value | None) -> Shape:
    """The shape of `size=` of a random function; `()` for None."""
    return () if read.is_none(value) else _new_shape("random", value)


def _random(dtype: DType | None, parameters: Sequence[str]) -> OperationRule:
    """A draw from a distribution: shaped by `size`, or by the broadcast of its parameters.

    Without either, it is a Python number.
    """

    def rule(call: BoundCall) -> Value:
        size = call.argument("size")
        if not read.is_none(size):
            shape = _sized(size)
            return array(dtype, shape)
        given = [
            read.converted_type(call.argument(name), numpy=True).shape
            for name in parameters
            if call.argument(name) is not None
        ]
        shape = broadcast_all(call.name.rpartition(".")[2], given)
        if shape == ():
            return Scalar(PythonType.INT) if dtype == INT64 else Scalar(PythonType.FLOAT)
        return UNKNOWN if shape is None else array(dtype, shape)

    return rule


def _random_dims(call: BoundCall) -> Value:
    """`numpy.random.rand(d0, d1, ...)`, `randn`."""
    if call.incomplete:
        return UNKNOWN
    sizes = tuple(read.size(value) for value in call.extra_arguments)
    return array(FLOAT64, sizes) if sizes else Scalar(PythonType.FLOAT)


def _random_integers(call: BoundCall) -> Value:
    """`randint(low, high, size, dtype=int)`, `Generator.integers`."""
    dtype_value = call.argument("dtype")
    dtype = INT64 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    size = call.argument("size")
    if not read.is_none(size):
        return array(dtype, _sized(size))
    bounds = [
        read.converted_type(call.argument(name), numpy=True).shape
        for name in ("low", "high")
        if not read.is_none(call.argument(name))
    ]
    shape = broadcast_all("randint", bounds)
    if shape == ():
        if read.is_none(dtype_value):
            # a Python int from the old generators, a NumPy scalar from the new ones
            return array_result(INT64, ()) if "Generator" in call.name else Scalar(PythonType.INT)
        return array_result(dtype, ())
    return array(dtype, shape)


def _generator_random(call: BoundCall) -> Value:
    """`Generator.random(size, dtype)`, `standard_normal`."""
    size = call.argument("size")
    dtype = dtype_setting(call, FLOAT64)
    return Scalar(PythonType.FLOAT) if read.is_none(size) else array(dtype, _sized(size))


def _choice(call: BoundCall) -> Value:
    source = read.converted_type(call.argument("a"), numpy=True)
    shape = _sized(call.argument("size"))
    if source.shape == ():
        dtype: DType | None = INT64
        rest: tuple[Dim, ...] = ()
    elif source.shape is None:
        return UNKNOWN
    else:
        dtype, rest = source.dtype, source.shape[1:]
    if shape is None:
        return array(dtype, None)
    if read.is_none(call.argument("size")) and not rest:
        return Scalar(PythonType.INT) if source.shape == () else array_result(dtype, ())
    return array(dtype, (*shape, *rest))


def _permutation(call: BoundCall) -> Value:
    source = read.converted_type(call.argument("x"), numpy=True)
    if source.shape == ():
        return array(INT64, (read.integer(call.argument("x")),))
    return array(source.dtype, source.shape)


def _nothing(call: BoundCall) -> Value:
    return Constant(None)


def _multivariate(call: BoundCall) -> Value:
    mean = read.converted_type(call.argument("mean"), numpy=True).shape
    shape = _sized(call.argument("size"))
    return array(FLOAT64, None if shape is None or mean is None else (*shape, *mean))


def _dirichlet(call: BoundCall) -> Value:
    alpha = read.converted_type(call.argument("alpha"), numpy=True).shape
    shape = _sized(call.argument("size"))
    return array(FLOAT64, None if shape is None or alpha is None else (*shape, *alpha))


def _copy(call: BoundCall) -> Value:
    given = array_operand(_first(call)).type
    return array(given.dtype, given.shape, content_of(_first(call)))


def _grid(call: BoundCall) -> Value:
    """`numpy.meshgrid(*xi, indexing="xy", sparse=False)`: an array for each axis."""
    if call.incomplete:
        return UNKNOWN
    parts = [read.converted_type(value, numpy=True) for value in call.extra_arguments]
    indexing = call.argument("indexing")
    order = "xy" if indexing is None else read.text(indexing)
    sparse = call.argument("sparse")
    if order is None or (sparse is not None and read.truth(sparse) is not False):
        return TupleValue((array(None, None),) * len(parts))
    sizes: list[Dim] = [
        1 if part.shape == () else part.shape[0] if part.shape and len(part.shape) == 1 else None for part in parts
    ]
    if order == "xy" and len(sizes) > 1:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    return TupleValue(tuple(array(part.dtype, tuple(sizes)) for part in parts))


def _loaded(call: BoundCall) -> Value:
    """The result of reading a file: its kind follows from its use."""
    return UnknownValue(may_be_tensor=False, origin=LOADED)


def _text_table(call: BoundCall) -> Value:
    dtype = dtype_setting(call, FLOAT64)
    return array(dtype, None)


def _indices(call: BoundCall) -> Value:
    sizes = read.integers(call.argument("dimensions"))
    return array(dtype_setting(call, INT64), None if sizes is None else (len(sizes), *sizes))


def _triangle_indices(call: BoundCall) -> Value:
    return TupleValue((array(INT64, (None,)), array(INT64, (None,))))


_DISTRIBUTIONS: Final[Mapping[str, tuple[DType, tuple[str, ...]]]] = {
    "normal": (FLOAT64, ("loc", "scale")),
    "uniform": (FLOAT64, ("low", "high")),
    "exponential": (FLOAT64, ("scale",)),
    "laplace": (FLOAT64, ("loc", "scale")),
    "logistic": (FLOAT64, ("loc", "scale")),
    "lognormal": (FLOAT64, ("mean", "sigma")),
    "gumbel": (FLOAT64, ("loc", "scale")),
    "gamma": (FLOAT64, ("shape", "scale")),
    "beta": (FLOAT64, ("a", "b")),
    "chisquare": (FLOAT64, ("df",)),
    "standard_t": (FLOAT64, ("df",)),
    "poisson": (INT64, ("lam",)),
    "binomial": (INT64, ("n", "p")),
    "geometric": (INT64, ("p",)),
}
_SCALAR_TYPES: Final = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
]


def _random_rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    for owner in ("numpy.random", "numpy.random.RandomState", "numpy.random.Generator"):
        for name, (dtype, parameters) in _DISTRIBUTIONS.items():
            rules[f"{owner}.{name}"] = _random(dtype, parameters)
        rules[f"{owner}.choice"] = _choice
        rules[f"{owner}.permutation"] = _permutation
        rules[f"{owner}.shuffle"] = _nothing
        rules[f"{owner}.multivariate_normal"] = _multivariate
        rules[f"{owner}.dirichlet"] = _dirichlet
    for owner in ("numpy.random", "numpy.random.RandomState"):
        rules[f"{owner}.rand"] = rules[f"{owner}.randn"] = _random_dims
        rules[f"{owner}.randint"] = _random_integers
        rules[f"{owner}.seed"] = _nothing
        for name in ("random", "random_sample", "standard_normal"):
            rules[f"{owner}.{name}"] = _random(FLOAT64, ())
    rules["numpy.random.Generator.integers"] = _random_integers
    for name in ("random", "standard_normal", "standard_exponential"):
        rules[f"numpy.random.Generator.{name}"] = _generator_random
    return rules


_NOTHING: Final = (
    "save savez savez_compressed savetxt random.seed set_printoptions testing.assert_allclose testing.assert_equal "
    "testing.assert_array_equal testing.assert_array_almost_equal testing.assert_almost_equal testing.assert_array_less"
)

RULES: Final[Mapping[str, OperationRule]] = {
    **{f"numpy.{name}": _nothing for name in _NOTHING.split()},
    **{f"numpy.{name}": _array for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")},
    "numpy.copy": _copy,
    "numpy.require": _copy,
    "numpy.ndarray": _filled(FLOAT64),
    "numpy.zeros": _filled(FLOAT64),
    "numpy.ones": _filled(FLOAT64),
    "numpy.empty": _filled(FLOAT64),
    "numpy.full": _full,
    **{f"numpy.{name}": _like for name in ("zeros_like", "ones_like", "empty_like", "full_like")},
    "numpy.arange": _arange,
    "numpy.linspace": _linspace,
    "numpy.logspace": _logspace,
    "numpy.geomspace": _logspace,
    "numpy.eye": _eye,
    "numpy.identity": _eye,
    **dict.fromkeys(words("numpy.bartlett numpy.blackman numpy.hamming numpy.hanning numpy.kaiser"), _window),
    "numpy.meshgrid": _grid,
    "numpy.indices": _indices,
    "numpy.triu_indices": _triangle_indices,
    "numpy.tril_indices": _triangle_indices,
    "numpy.load": _loaded,
    "numpy.loadtxt": _text_table,
    "numpy.genfromtxt": _text_table,
    **{f"numpy.{name}": _scalar_type(DType(name)) for name in _SCALAR_TYPES},
    "numpy.bool": _scalar_type(BOOL),
    "numpy.dtype": _dtype,
    "numpy.result_type": _result_type,
    **_random_rules(),
}
