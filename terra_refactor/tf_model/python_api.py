"""Built-in functions and Python's standard library, as far as they return numbers, strings and other values that are not objects.

Computes: results on known constants by running the function itself, types of results elsewhere. Gives: `RULES`. Effects are in
`python_effects.py`. Ignores: functions that create or change objects, or call their arguments (`list`, `sorted`, `map`,
`functools.reduce`), which the interpreter handles.

A function runs on constants only if it is cheap and its result small; if it raises, the result has unknown content, because the
interpreter handles exceptions of the program.
"""

from __future__ import annotations

import math
import operator
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from terra_refactor.domain.dim import Dim, SymbolicDim, Why, is_chosen, loaded_name, opened
from terra_refactor.domain.dtype import FLOATING, INTEGER
from terra_refactor.domain.lattice import dim_of, join_all, list_element
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import content_roots
from terra_refactor.domain.value import (
    NONE,
    NOT_A_TENSOR,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    RangeValue,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    as_symbolic,
    is_symbolic_number,
    is_tensor,
    may_be_tensor,
    of_release,
)
from terra_refactor.tf_model.catalogue import catalogue_files, entry, parse_signature, value_of
from terra_refactor.tf_model.environment import knows_release
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.ops.operators import operator_rule, unary_rule
from terra_refactor.tf_model.spec import BoundCall, OperationRule, ParameterPassing, ParameterSpec

_LARGEST_INT: Final = 1 << 256
_LONGEST_TEXT: Final = 4096
_MISSING: Final = object()

_UNKNOWN_COMPLEX: Final = Scalar(PythonType.COMPLEX)
_UNKNOWN_BYTES: Final = Scalar(PythonType.BYTES)


def _constant(value: Value) -> object:
    """The Python object of a fully known value, otherwise `_MISSING`."""
    match value:
        case Constant(value=content):
            return content
        case TupleValue(elements=elements):
            parts = [_constant(element) for element in elements]
            return _MISSING if _MISSING in parts else tuple(parts)
        case FrozenList(elements=elements) if elements is not None:
            parts = [_constant(element) for element in elements]
            return _MISSING if _MISSING in parts else parts
        case _:
            return _MISSING


def _is_small(value: object) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) < _LARGEST_INT
    if isinstance(value, str | bytes):
        return len(value) <= _LONGEST_TEXT
    if isinstance(value, tuple | list):
        return len(value) <= 256 and all(_is_small(element) for element in value)
    return True


def _evaluate(
    function: Callable[..., object], arguments: tuple[object, ...], keywords: Mapping[str, object]
) -> Value | None:
    """The result of a cheap function of the standard library on constants; None if it raises or is too large."""
    try:
        result = function(*arguments, **keywords)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return value_of(result) if _is_small(result) else None


def _is_cheap(arguments: Sequence[object]) -> bool:
    """Whether a standard-library function that repeats, pads or multiplies is cheap on these arguments."""
    if not all(_is_small(argument) for argument in arguments):
        return False
    has_text = any(isinstance(argument, str | bytes | tuple | list) for argument in arguments)
    return not has_text or all(abs(number) <= _LONGEST_TEXT for number in arguments if isinstance(number, int))


@cache
def _parameters_of(name: str) -> tuple[ParameterSpec, ...]:
    found = entry(name)
    if found is None or not (number := found[0][1:].partition(";")[0]):
        return ()
    return parse_signature(catalogue_files()[found[1]].signatures[int(number)])


def _as_written(call: BoundCall) -> tuple[tuple[Value, ...], Mapping[str, Value]] | None:
    """Positional and keyword arguments with which the function itself can be called; None if an argument in between is missing."""
    positional: list[Value] = []
    keywords = dict(call.extra_keywords)
    left = dict(call.arguments)
    closed = False
    for parameter in _parameters_of(call.name):
        value = left.pop(parameter.name, None)
        if parameter.passing is ParameterPassing.KEYWORD_ONLY:
            if value is not None:
                keywords[parameter.name] = value
        elif parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY):
            if value is None:
                closed = True
            elif closed:
                return None
            else:
                positional.append(value)
    if left or (closed and call.extra_arguments):
        return None
    return (*positional, *call.extra_arguments), keywords


def _folded(function: Callable[..., object], otherwise: Value) -> OperationRule:
    """The rule of a pure function: evaluated on constants, otherwise of a known type."""

    def rule(call: BoundCall) -> Value:
        written = None if call.incomplete else _as_written(call)
        if written is None:
            return otherwise
        receiver = () if call.receiver is None else (call.receiver,)
        known = [_constant(value) for value in (*receiver, *written[0])]
        named = {name: _constant(value) for name, value in written[1].items()}
        if _MISSING in known or _MISSING in named.values() or not _is_cheap([*known, *named.values()]):
            return otherwise
        result = _evaluate(function, tuple(known), named)
        return otherwise if result is None else result

    return rule


def _typed(result: Value) -> OperationRule:
    """The rule of a function whose result always has the same type."""
    return lambda call: result


def _drawn(population: Value | None) -> Value:
    """One of the members of a sequence."""
    match population:
        case FrozenList():
            return list_element(population)
        case TupleValue(members):
            return join_all(members)
        case SequenceValue(element):
            return element
        case RangeValue():
            return UNKNOWN_INT
        case Constant(str()):
            return UNKNOWN_STR
        case _:
            return UNKNOWN


def _draws(call: BoundCall) -> Value:
    """`random.sample` and `random.choices`."""
    count = call.argument("k")
    return FrozenList(None, _drawn(call.argument("population")), None if count is None else dim_of(count))


def int_of_size(size: Dim) -> Value:
    """A Python int by its (perhaps symbolic) value."""
    return Constant(size) if isinstance(size, int) else Scalar(PythonType.INT, size)


def _length_of_range(value: RangeValue) -> Value:
    start, stop, step = _constant(value.start), _constant(value.stop), _constant(value.step)
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step:
        return Constant(max(0, -((start - stop) // step)))
    if start == 0 and step == 1 and isinstance(value.stop, Scalar) and _never_negative(value.stop.dim):
        return value.stop
    return UNKNOWN_INT


def _never_negative(size: Dim) -> bool:
    """Whether an int that is a size expression is at least 0, whatever the sizes in it are."""
    return isinstance(size, SymbolicDim) and not is_chosen(size) and all(factor > 0 for _, factor in size.terms)


def length(call: BoundCall) -> Value:
    """`len`: exact if the number of elements is known; for a tensor or array the size of its first axis."""
    match call.argument("obj"):
        case TupleValue(elements=elements):
            return Constant(len(elements))
        case FrozenList(elements=items):
            return UNKNOWN_INT if items is None else Constant(len(items))
        case FrozenDict(items=pairs, rest=rest):
            return Constant(len(pairs)) if rest is None else UNKNOWN_INT
        case Constant(value=str() | bytes() as text):
            return Constant(len(text))
        case RangeValue() as numbers:
            return _length_of_range(numbers)
        case ShapeValue(shape=shape):
            return UNKNOWN_INT if shape is None else Constant(len(shape))
        case TensorValue(type=TensorType(shape=shape)):
            return _first_size(shape)
        case _:
            return UNKNOWN_INT


def _first_size(shape: Shape) -> Value:
    return int_of_size(shape[0]) if shape else UNKNOWN_INT


def _content(value: Value) -> Value | None:
    """The known content of a rank-0 tensor or array."""
    return value.content if isinstance(value, TensorValue) and value.type.shape == () else None


def _to_int(number: Any = 0, base: int = 10) -> int:
    """`int`, whose `base` applies only to strings."""
    return int(number, base) if isinstance(number, str | bytes) else int(number)


def _conversion(convert: Callable[..., object], otherwise: Value) -> OperationRule:
    """The rule of `int`, `float`, `bool`, `complex`, `str` for numbers, strings, and tensors of one element."""
    fold = _folded(convert, otherwise)

    def rule(call: BoundCall) -> Value:
        value = next(iter(call.arguments.values()), None)
        if value is None and not call.extra_arguments:
            return fold(call)
        if isinstance(value, TensorValue):
            content = _content(value)
            known = _constant(content) if content is not None else _MISSING
            if known is _MISSING:
                result = content if convert is _to_int and isinstance(content, Scalar) else otherwise
            else:
                result = _evaluate(convert, (known,), {}) or otherwise
            if value.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR):
                return result
            roots = content_roots(value)
            if roots and convert is _to_int:
                size = opened(dim_of(result), roots, Why.CONTENT, is_tensor=True)
                result = Scalar(PythonType.INT, size)
            return as_symbolic(result)
        if convert is _to_int and isinstance(value, Scalar) and value.type is PythonType.INT:
            return value
        if convert is _to_int and isinstance(value, Scalar | UnknownValue) and not call.extra_arguments:
            # a string that represents a number, or a number of a file: it differs from the int only if it is not a size
            spelled = value.dim if isinstance(value, Scalar) else value.number
            if loaded_name(spelled) is not None:
                return Scalar(PythonType.INT, spelled)
        result = fold(call)
        return as_symbolic(result) if value is not None and is_symbolic_number(value) else result

    return rule


def _absolute(call: BoundCall) -> Value:
    """`abs`: a value that cannot be negative is unchanged, and so is the type of a tensor of real numbers."""
    value = call.argument("x")
    if isinstance(value, TensorValue):
        return UNKNOWN if value.type.dtype not in FLOATING | INTEGER else unary_rule("abs", value)
    if isinstance(value, Scalar):
        result: Value = value
        if value.type is PythonType.BOOL or (value.type is PythonType.INT and not _never_negative(value.dim)):
            result = UNKNOWN_INT
        elif value.type is PythonType.COMPLEX:
            result = UNKNOWN_FLOAT
        return as_symbolic(result) if value.symbolic else result
    return _folded(abs, NOT_A_TENSOR)(call) if not isinstance(value, UnknownValue) else UNKNOWN


def _round_to_int(number: float, digits: None = None) -> int:
    return round(number)


def _rounded(call: BoundCall) -> Value:
    digits = call.argument("ndigits")
    value = call.argument("number")
    if isinstance(value, UnknownValue | TensorValue):
        return UNKNOWN
    if digits is None or digits == NONE:
        return _folded(_round_to_int, UNKNOWN_INT)(call)
    is_int = isinstance(value, Scalar) and value.type is PythonType.INT
    return _folded(round, UNKNOWN_INT if is_int else UNKNOWN_FLOAT)(call)


def _python_type(value: Value) -> PythonType | None:
    match value:
        case Scalar(type=python_type):
            return python_type
        case Constant(value=bool()):
            return PythonType.BOOL
        case Constant(value=int()):
            return PythonType.INT
        case Constant(value=float()):
            return PythonType.FLOAT
        case Constant(value=str()):
            return PythonType.STR
        case _:
            return None


def _extreme(function: Callable[..., object]) -> OperationRule:
    """`min` and `max` of several numbers or of one sequence; with a `key` or `default` the result may be unknown."""

    def rule(call: BoundCall) -> Value:
        candidates: tuple[Value, ...] = call.extra_arguments
        key = call.argument("key")
        if len(candidates) == 1:
            match candidates[0]:
                case TupleValue(elements=elements):
                    candidates = elements
                case FrozenList(elements=elements) if elements is not None:
                    candidates = elements
                case ShapeValue(shape=shape) if shape is not None:
                    candidates = tuple(int_of_size(size) for size in shape)
                case _:
                    return UNKNOWN if may_be_tensor(candidates[0]) else NOT_A_TENSOR
        if not candidates or call.incomplete or (key is not None and key != NONE):
            return UNKNOWN
        known = [_constant(candidate) for candidate in candidates]
        if _MISSING not in known:
            return _evaluate(function, (known,), {}) or UNKNOWN
        if len(set(candidates)) == 1:
            return candidates[0]
        types = {_python_type(candidate) for candidate in candidates}
        if len(types) == 1 and None not in types:
            (only,) = types
            assert only is not None
            return Scalar(only)
        if all(isinstance(candidate, TensorValue | Constant | Scalar) for candidate in candidates):
            return join_all(candidates)
        return UNKNOWN if any(may_be_tensor(candidate) for candidate in candidates) else NOT_A_TENSOR

    return rule


def _power(call: BoundCall) -> Value:
    """`pow` and operators like `math.pow`; not evaluated if the exponent makes the result large."""
    operands = _operands(call)
    if operands is not None and call.argument("mod") in (None, NONE):
        return operator_rule("**", *operands)
    exponent = _constant(call.arguments.get("exp", call.arguments.get("b", NONE)))
    if isinstance(exponent, int) and abs(exponent) > 512:
        return UNKNOWN
    return _folded(pow, UNKNOWN)(call)


def _quotient_and_rest(call: BoundCall) -> Value:
    """`divmod`, which tensors do not have."""
    operands = _operands(call)
    if operands is None or any(is_tensor(side) for side in operands):
        return _folded(divmod, UNKNOWN)(call)
    return TupleValue((operator_rule("//", *operands), operator_rule("%", *operands)))


def _operands(call: BoundCall) -> tuple[Value, Value] | None:
    """The two operands of a function that is equivalent to an operator, if an array takes part and both are known."""
    given = tuple(call.arguments.values())[:2] or call.extra_arguments
    if len(given) != 2 or any(isinstance(value, UnknownValue | UnionValue) for value in given):
        return None
    return (given[0], given[1]) if any(isinstance(value, TensorValue) for value in given) else None


def _factorial(call: BoundCall) -> Value:
    number = _constant(next(iter(call.arguments.values()), NONE))
    return Constant(math.factorial(number)) if isinstance(number, int) and 0 <= number <= 50 else UNKNOWN_INT


def _slice(call: BoundCall) -> Value:
    match call.extra_arguments:
        case (stop,):
            return SliceValue(NONE, stop, NONE)
        case (start, stop):
            return SliceValue(start, stop, NONE)
        case (start, stop, step):
            return SliceValue(start, stop, step)
        case _:
            return UNKNOWN


def _range(call: BoundCall) -> Value:
    """`range` of ints; unknown for a tensor, which AutoGraph handles."""
    arguments = call.extra_arguments
    if any(isinstance(argument, TensorValue) for argument in arguments) or call.incomplete:
        return SequenceValue(UNKNOWN_INT, "range")
    match arguments:
        case (stop,):
            return RangeValue(Constant(0), stop, Constant(1))
        case (start, stop):
            return RangeValue(start, stop, Constant(1))
        case (start, stop, step):
            return RangeValue(start, stop, step)
        case _:
            return SequenceValue(UNKNOWN_INT, "range")


def _product(call: BoundCall) -> Value:
    """`math.prod`: exact for known numbers."""
    start = _constant(call.arguments.get("start", Constant(1)))
    numbers = _constant(call.arguments.get("iterable", UNKNOWN))
    if start is _MISSING or not isinstance(numbers, tuple | list) or len(numbers) > 64:
        return UNKNOWN
    return _evaluate(math.prod, (numbers,), {"start": start}) or UNKNOWN


def _joined(call: BoundCall) -> Value:
    """`str.join` of known strings."""
    parts = _constant(call.arguments.get("iterable", UNKNOWN))
    separator = _constant(call.receiver) if call.receiver is not None else _MISSING
    if isinstance(separator, str) and isinstance(parts, tuple | list):
        return _evaluate(separator.join, (parts,), {}) or UNKNOWN_STR
    return UNKNOWN_STR


def _split(function: Callable[..., object]) -> OperationRule:
    return _folded(function, FrozenList(None, UNKNOWN_STR))


_TEXT_METHODS: Final[Mapping[str, Value]] = {
    **dict.fromkeys(
        words(
            "capitalize casefold center expandtabs format_map ljust lower lstrip removeprefix removesuffix replace rjust "
            "rstrip strip swapcase title translate upper zfill"
        ),
        UNKNOWN_STR,
    ),
    **dict.fromkeys(
        words(
            "endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable "
            "isspace istitle isupper startswith"
        ),
        UNKNOWN_BOOL,
    ),
    **dict.fromkeys(words("count find index rfind rindex"), UNKNOWN_INT),
    "encode": _UNKNOWN_BYTES,
    "partition": TupleValue((UNKNOWN_STR, UNKNOWN_STR, UNKNOWN_STR)),
    "rpartition": TupleValue((UNKNOWN_STR, UNKNOWN_STR, UNKNOWN_STR)),
}

_FLOAT_FUNCTIONS: Final = words(
    "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees dist erf erfc exp exp2 expm1 fabs fmod "
    "gamma hypot ldexp "
    "lgamma log log10 log1p log2 nextafter pow radians remainder sin sinh sqrt tan tanh ulp fsum"
)

_INT_FUNCTIONS: Final = words("ceil floor trunc gcd lcm isqrt")

_OPERATORS: Final = words(
    "abs add and_ concat contains eq floordiv ge gt inv invert is_ is_not le lt mod mul ne neg not_ or_ pos sub "
    "truediv truth xor"
)
"""Functions of `operator` whose result on constants is that of the operator."""

_VERSION: Final = TupleValue((UNKNOWN_INT, UNKNOWN_INT, UNKNOWN_INT), "version", ("major", "minor", "micro"))
"""A parsed version, which compares like its numbers."""

_VERSION_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def _parsed_version(call: BoundCall) -> Value:
    """Versions compare like their numbers, which matters only if that of TensorFlow is known."""
    text = next(iter((*call.arguments.values(), *call.extra_arguments)), UNKNOWN) if knows_release() else UNKNOWN
    found = (
        _VERSION_NUMBERS.fullmatch(text.value) if isinstance(text, Constant) and isinstance(text.value, str) else None
    )
    if found is None:
        return _VERSION
    return replace(_VERSION, elements=tuple(Constant(int(number or 0)) for number in found.groups()))


RULES: Final[Mapping[str, OperationRule]] = {
    "builtins.len": length,
    "builtins.int": _conversion(_to_int, UNKNOWN_INT),
    "builtins.float": _conversion(float, UNKNOWN_FLOAT),
    "builtins.bool": _conversion(bool, UNKNOWN_BOOL),
    "builtins.complex": _conversion(complex, _UNKNOWN_COMPLEX),
    "builtins.str": _conversion(str, UNKNOWN_STR),
    "builtins.abs": _absolute,
    "builtins.round": _rounded,
    "builtins.min": _extreme(min),
    "builtins.max": _extreme(max),
    "builtins.pow": _power,
    "builtins.divmod": _quotient_and_rest,
    "builtins.slice": _slice,
    "builtins.range": _range,
    "builtins.chr": _folded(chr, UNKNOWN_STR),
    "builtins.ord": _folded(ord, UNKNOWN_INT),
    "builtins.bin": _folded(bin, UNKNOWN_STR),
    "builtins.hex": _folded(hex, UNKNOWN_STR),
    "builtins.oct": _folded(oct, UNKNOWN_STR),
    "builtins.ascii": _typed(UNKNOWN_STR),
    "builtins.repr": _typed(UNKNOWN_STR),
    "builtins.format": _typed(UNKNOWN_STR),
    "builtins.hash": _typed(UNKNOWN_INT),
    "builtins.id": _typed(UNKNOWN_INT),
    "builtins.callable": _typed(UNKNOWN_BOOL),
    "builtins.hasattr": _typed(UNKNOWN_BOOL),
    "builtins.input": _typed(UNKNOWN_STR),
    "builtins.print": _typed(NONE),
    **{f"builtins.{kind}.{name}": _typed(UNKNOWN_INT) for kind in ("list", "tuple") for name in ("index", "count")},
    "builtins.str.join": _joined,
    "builtins.str.format": _typed(UNKNOWN_STR),
    "builtins.str.split": _split(str.split),
    "builtins.str.rsplit": _split(str.rsplit),
    "builtins.str.splitlines": _split(str.splitlines),
    **{f"builtins.str.{name}": _folded(getattr(str, name), result) for name, result in _TEXT_METHODS.items()},
    "builtins.bytes.decode": _folded(bytes.decode, UNKNOWN_STR),
    "builtins.int.bit_length": _folded(int.bit_length, UNKNOWN_INT),
    "builtins.float.is_integer": _folded(float.is_integer, UNKNOWN_BOOL),
    **{f"math.{name}": _folded(getattr(math, name), UNKNOWN_FLOAT) for name in _FLOAT_FUNCTIONS if hasattr(math, name)},
    **{f"math.{name}": _folded(getattr(math, name), UNKNOWN_INT) for name in _INT_FUNCTIONS},
    **{
        f"math.{name}": _folded(getattr(math, name), UNKNOWN_BOOL) for name in ("isclose", "isfinite", "isinf", "isnan")
    },
    "math.comb": _typed(UNKNOWN_INT),
    "math.perm": _typed(UNKNOWN_INT),
    "math.factorial": _factorial,
    "math.frexp": _folded(math.frexp, TupleValue((UNKNOWN_FLOAT, UNKNOWN_INT))),
    "math.modf": _folded(math.modf, TupleValue((UNKNOWN_FLOAT, UNKNOWN_FLOAT))),
    "math.prod": _product,
    **{f"operator.{name}": _folded(getattr(operator, name), UNKNOWN) for name in _OPERATORS},
    "operator.pow": _power,
    **{f"bisect.{name}": _typed(UNKNOWN_INT) for name in ("bisect", "bisect_left")},
    "operator.index": _folded(operator.index, UNKNOWN_INT),
    "os.path.join": _folded(posixpath.join, UNKNOWN_STR),
    "os.path.basename": _folded(posixpath.basename, UNKNOWN_STR),
    "os.path.dirname": _folded(posixpath.dirname, UNKNOWN_STR),
    "os.path.splitext": _folded(posixpath.splitext, TupleValue((UNKNOWN_STR, UNKNOWN_STR))),
    "os.path.split": _folded(posixpath.split, TupleValue((UNKNOWN_STR, UNKNOWN_STR))),
    **{f"os.path.{name}": _typed(UNKNOWN_BOOL) for name in ("exists", "isfile", "isdir", "isabs", "islink")},
    **{
        f"os.path.{name}": _typed(UNKNOWN_STR)
        for name in ("abspath", "expanduser", "expandvars", "normpath", "realpath", "relpath")
    },
    "os.path.getsize": _typed(UNKNOWN_INT),
    "os.getcwd": _typed(UNKNOWN_STR),
    "os.getpid": _typed(UNKNOWN_INT),
    "os.listdir": _typed(FrozenList(None, UNKNOWN_STR)),
    **{
        f"time.{name}": _typed(UNKNOWN_FLOAT)
        for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    },
    **{
        f"time.{name}": _typed(UNKNOWN_INT)
        for name in ("time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns")
    },
    **{f"time.{name}": _typed(UNKNOWN_STR) for name in ("strftime", "ctime", "asctime")},
    "time.sleep": _typed(NONE),
    **{
        f"random.{name}": _typed(UNKNOWN_FLOAT)
        for name in words(
            "random uniform gauss normalvariate betavariate expovariate gammavariate lognormvariate triangular "
            "paretovariate vonmisesvariate weibullvariate"
        )
    },
    **{f"random.{name}": _typed(UNKNOWN_INT) for name in ("randint", "randrange", "getrandbits")},
    "random.seed": _typed(NONE),
    "random.choice": lambda call: _drawn(call.argument("seq")),
    "random.choices": _draws,
    "random.sample": _draws,
    "random.shuffle": _typed(NONE),
    **{
        f"logging.{name}": _typed(NONE)
        for name in ("debug", "info", "warning", "error", "critical", "exception", "log", "basicConfig")
    },
    **{
        f"logging.{owner}.{name}": _typed(NONE)
        for owner in ("Logger", "root")
        for name in ("debug", "info", "warning", "error", "critical", "exception", "log", "setLevel", "addHandler")
    },
    # every logger has the effects of the root logger
    "logging.getLogger": _typed(LibraryValue("logging.root")),
    "logging.root.getChild": _typed(LibraryValue("logging.root")),
    **{f"logging.root.{name}": _typed(UNKNOWN_BOOL) for name in ("isEnabledFor", "hasHandlers")},
    "warnings.warn": _typed(NONE),
    "sys.getrecursionlimit": _typed(UNKNOWN_INT),
    "sys.getsizeof": _typed(UNKNOWN_INT),
    "json.dumps": _typed(UNKNOWN_STR),
    **{f"platform.{name}": _typed(UNKNOWN_STR) for name in words("system machine node processor platform release")},
    "platform.python_version": _typed(of_release(UNKNOWN_STR)),
    "platform.python_version_tuple": _typed(of_release(TupleValue((UNKNOWN_STR, UNKNOWN_STR, UNKNOWN_STR)))),
    "importlib.metadata.version": _typed(of_release(UNKNOWN_STR)),
    "importlib_metadata.version": _typed(of_release(UNKNOWN_STR)),
    **dict.fromkeys(
        words(
            "distutils.version.LooseVersion distutils.version.StrictVersion looseversion.LooseVersion "
            "packaging.version.Version packaging.version.parse pkg_resources.parse_version "
            "pkg_resources.extern.packaging.version.parse pkg_resources.extern.packaging.version.Version "
            "setuptools.extern.packaging.version.parse setuptools.extern.packaging.version.Version"
        ),
        _parsed_version,
    ),
    "inspect.getsource": _typed(UNKNOWN_STR),
    "textwrap.dedent": _typed(UNKNOWN_STR),
    "gc.collect": _typed(UNKNOWN_INT),
}
"""By canonical name."""
