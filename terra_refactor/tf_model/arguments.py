"""Accessors for the arguments of library calls: Python numbers, strings, shapes, dtypes and structures from abstract
values.

Computes: nothing about the program. Gives: functions that return None for unknown values, so that rules stay short.
Ignores: unions and references to lists, which never reach a rule (see `spec`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, Why, eager, opened
from terra_refactor.domain.dtype import BOOL, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, STRING, DType, dtype_named
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.shape import Shape, join_shapes
from terra_refactor.domain.tensor import UNKNOWN_TENSOR_TYPE, TensorType
from terra_refactor.domain.traced import content_roots
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    RangeValue,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.numpy_dtypes import NumpyOperand, numpy_common
from terra_refactor.tf_model.spec import BoundCall


def is_none(value: Value | None) -> bool:
    """True if the value is absent or certainly Python's None."""
    return value is None or (isinstance(value, Constant) and value.value is None)


def may_be_none(value: Value | None) -> bool:
    """True if the value may be Python's None, or is unknown."""
    if value is None:
        return True
    return any(isinstance(member, UnknownValue) or member == NONE for member in members(value))


def integer(value: Value | None) -> Dim:
    """The value of an int (or of a rank-0 integer array with known content), a symbolic size, or None if unknown."""
    match value:
        case Constant(bool() as flag):
            return int(flag)
        case Constant(int() as number):
            return number
        case Scalar(PythonType.INT, dim):
            return dim
        case TensorValue(TensorType(_, () | None)) if (roots := content_roots(value)) or value.content is not None:
            return opened(None if value.content is None else integer(value.content), roots, Why.CONTENT)
        case _:
            return None


def size(value: Value | None) -> Dim:
    """The value of an argument that must be an int: also a number from a file, which may be anything elsewhere."""
    return value.number if isinstance(value, UnknownValue) else integer(value)


def known_integer(value: Value | None) -> int | None:
    """The value of an int that eager code knows exactly."""
    dim = eager(integer(value))
    return dim if isinstance(dim, int) else None


def number(value: Value | None) -> int | float | None:
    """The value of an int or float that is known exactly."""
    match value:
        case Constant(bool()):
            return None
        case Constant(int() | float() as known):
            return known
        case TensorValue(TensorType(_, ()), _, content) if content is not None:
            return number(content)
        case _:
            return None


def truth(value: Value | None) -> bool | None:
    """The value of a known bool."""
    if isinstance(value, Constant) and isinstance(value.value, bool):
        return value.value
    return None


def text(value: Value | None) -> str | None:
    """The value of a known str."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    return None


MAX_REPEATED: Final = 1024
"""Maximum number of elements expanded for a list known only by its length and the join of its elements."""


def elements(value: Value | None) -> tuple[Value, ...] | None:
    """The elements of a tuple or list of known length."""
    match value:
        case TupleValue(items):
            return items
        case FrozenList(items) if items is not None:
            return items
        case FrozenList(None, element, int() as length) | SequenceValue(element, "tuple", int() as length) if (
            element is not None and 0 < length <= MAX_REPEATED
        ):
            return (element,) * length
        case _:
            return None


def is_sequence(value: Value | None) -> bool:
    """True for a tuple or list, of known length or not."""
    return isinstance(value, TupleValue | FrozenList | SequenceValue)


def integers(value: Value | None) -> tuple[Dim, ...] | None:
    """The elements of a tuple, list, range, `TensorShape` or rank-1 array of ints; None if the length is unknown."""
    match value:
        case TupleValue(items):
            return tuple(_size(item) for item in items)
        case FrozenList(items):
            return None if items is None else tuple(_size(item) for item in items)
        case ShapeValue(shape):
            return shape
        case RangeValue(start, stop, step):
            bounds = known_integer(start), known_integer(stop), known_integer(step)
            if bounds[0] is None or bounds[1] is None or bounds[2] is None or bounds[2] == 0:
                return None
            numbers = range(bounds[0], bounds[1], bounds[2])
            return tuple(numbers) if len(numbers) <= 64 else None
        case TensorValue(TensorType(_, shape), _, content):
            roots = value.traced.content
            if content is not None and shape is not None and len(shape) == 1:
                known = integers(content)
                return None if known is None else tuple(opened(size, roots, Why.CONTENT) for size in known)
            if shape is not None and len(shape) == 1 and isinstance(shape[0], int) and shape[0] <= 64:
                return (opened(None, roots, Why.CONTENT),) * shape[0]
            return None
        case _:
            return None


def _size(item: Value) -> Dim:
    """An element of a list of ints: a float tensor with an integral value counts, too, since the list is packed with
    the int dtype.
    """
    found = size(item)
    if found is None and isinstance(item, TensorValue):
        float_value = number(item)
        if float_value is not None and float_value == int(float_value):
            return int(float_value)
    return found


def size_tuple(value: Value | None, rank: int) -> tuple[Dim, ...]:
    """A setting that is one int for all axes or an int for each (`kernel_size`, `strides`); its sizes are unknown if it is."""
    known = integers(value)
    if known is not None:
        return known if len(known) == rank else (None,) * rank
    return (integer(value),) * rank


def shape_argument(value: Value | None) -> Shape:
    """A shape given as a tuple, list, `TensorShape`, int (rank 1) or rank-1 integer tensor; -1 and None are unknown sizes."""
    known = integers(value)
    if known is None:
        single = integer(value)
        if single is None and not (isinstance(value, Scalar) and value.type is PythonType.INT):
            return None
        known = (single,)
    return tuple(None if isinstance(dim, int) and dim < 0 else dim for dim in known)


_PYTHON_DTYPES: Final[Mapping[str, DType]] = {
    "builtins.float": FLOAT64,
    "builtins.int": INT64,
    "builtins.bool": BOOL,
    "builtins.complex": COMPLEX128,
    "builtins.str": STRING,
}


def dtype_argument(value: Value | None) -> DType | None:
    """A dtype given as `tf.float32`, `np.float32`, `"float32"` or `float` (NumPy's meaning); None if unknown or not given."""
    match value:
        case DTypeValue(dtype):
            return dtype
        case Constant(str() as name):
            return dtype_named({"float": "float64", "int": "int64", "complex": "complex128"}.get(name, name))
        case LibraryValue(name):
            return _PYTHON_DTYPES.get(name) or dtype_named(name.rpartition(".")[2])
        case _:
            return None


def python_scalar_dtype(value: Value, *, numpy: bool) -> DType | None:
    """The dtype to which TensorFlow or NumPy converts a Python number or string on its own."""
    kind: str | None = None
    if isinstance(value, Scalar):
        kind = value.type.value
    elif isinstance(value, Constant):
        kind = type(value.value).__name__
        if kind == "int" and isinstance(value.value, int) and not -(2**31) <= value.value < 2**31:
            # TensorFlow rejects it, NumPy creates uint64 or objects for very large ints
            return INT64 if numpy and -(2**63) <= value.value < 2**63 else None
    match kind:
        case "bool":
            return BOOL
        case "int":
            return INT64 if numpy else INT32
        case "float":
            return FLOAT64 if numpy else FLOAT32
        case "complex":
            return COMPLEX128
        case "str" | "bytes":
            return STRING
        case _:
            return None


def is_number(value: Value | None) -> bool:
    """True for a Python number, with or without a known value."""
    if isinstance(value, Scalar):
        return value.type in (PythonType.INT, PythonType.FLOAT, PythonType.COMPLEX, PythonType.BOOL)
    return isinstance(value, Constant) and isinstance(value.value, int | float | complex)


_CONVERSION_ORDER: Final = (BOOL, INT32, INT64, FLOAT32, FLOAT64, COMPLEX128)


def _join_element_dtypes(dtypes: list[DType | None]) -> DType | None:
    """The dtype of an array of Python numbers of several types; None if it is not that simple."""
    if not dtypes or None in dtypes:
        return None
    distinct = set(dtypes)
    if len(distinct) == 1:
        return dtypes[0]
    ordered = [dtype for dtype in _CONVERSION_ORDER if dtype in distinct]
    return ordered[-1] if len(ordered) == len(distinct) and BOOL not in distinct else None


def converted_type(value: Value | None, *, numpy: bool = False) -> TensorType:
    """The type of the tensor (or ndarray if `numpy`) to which a library converts a value; parts may be unknown.

    Source: `tf.convert_to_tensor`, `numpy.asarray`. Lists of different lengths and objects have an unknown type.
    """
    match value:
        case TensorValue(tensor_type, kind) if kind not in (TensorKind.SPARSE, TensorKind.RAGGED):
            return tensor_type
        case Scalar() | Constant():
            dtype = python_scalar_dtype(value, numpy=numpy)
            if dtype is None and not (isinstance(value, Constant) and isinstance(value.value, int)):
                return UNKNOWN_TENSOR_TYPE
            return TensorType(dtype, ())
        case FrozenList(None, element, length):
            inner = UNKNOWN_TENSOR_TYPE if element is None else converted_type(element, numpy=numpy)
            return TensorType(inner.dtype, None if inner.shape is None else (length, *inner.shape))
        case TupleValue() | FrozenList():
            items = elements(value) or ()
            if not items:
                return TensorType(FLOAT64 if numpy else FLOAT32, (0,))
            return _stacked_type([converted_type(item, numpy=numpy) for item in items], numpy=numpy)
        case SequenceValue(element, "tuple", length):
            inner = converted_type(element, numpy=numpy)
            return TensorType(inner.dtype, None if inner.shape is None else (length, *inner.shape))
        case RangeValue():
            known = integers(value)
            return TensorType(INT64 if numpy else INT32, (None if known is None else len(known),))
        case ShapeValue(shape) if not numpy and shape is not None:
            return TensorType(INT32, (len(shape),))
        case UnionValue(alternatives):
            return either_type([converted_type(each, numpy=numpy) for each in alternatives])
        case _:
            return UNKNOWN_TENSOR_TYPE


def either_type(types: Sequence[TensorType]) -> TensorType:
    """The type of a value that has one of these types: what they have in common."""
    first, *others = types
    shape = first.shape
    for other in others:
        shape = join_shapes(shape, other.shape)
    return TensorType(first.dtype if all(other.dtype == first.dtype for other in others) else None, shape)


def _stacked_type(types: list[TensorType], *, numpy: bool) -> TensorType:
    shape = types[0].shape
    for other in types[1:]:
        shape = join_shapes(shape, other.shape)
    dtypes = [item.dtype for item in types]
    dtype = numpy_common([NumpyOperand(dtype) for dtype in dtypes]) if numpy else _join_element_dtypes(dtypes)
    return TensorType(dtype, None if shape is None else (len(types), *shape))


def first_of(call: BoundCall, *names: str) -> Value | None:
    """The first argument passed under one of these names, by parameter or keyword; otherwise the first of `*args`."""
    for name in names:
        value = call.arguments.get(name)
        if value is None:
            value = call.extra_keywords.get(name)
        if value is not None:
            return value
    return call.extra_arguments[0] if call.extra_arguments else None


def method_argument(call: BoundCall, name: str, position: int) -> Value | None:
    """Argument `name` of a method whose signature is `(*args, **kwargs)` in the catalogue: by name, else by position."""
    value = call.arguments.get(name)
    if value is None:
        value = call.extra_keywords.get(name)
    if value is None and position < len(call.extra_arguments):
        value = call.extra_arguments[position]
    return value


def map_structure(function: Callable[[Value], Value], value: Value) -> Value:
    """`tf.nest.map_structure` with one structure: `function` on every leaf of tuples, lists and dicts."""
    match value:
        case TupleValue(items, name, fields):
            return TupleValue(tuple(map_structure(function, item) for item in items), name, fields)
        case FrozenList(items, element):
            if items is not None:
                return FrozenList(tuple(map_structure(function, item) for item in items))
            return FrozenList(None, None if element is None else map_structure(function, element))
        case FrozenDict(entries, rest):
            return FrozenDict(
                tuple((key, map_structure(function, entry)) for key, entry in entries),
                None if rest is None else map_structure(function, rest),
            )
        case UnionValue(alternatives) if any(map(is_structure, alternatives)):
            return join_all(map_structure(function, alternative) for alternative in alternatives)
        case _:
            return function(value)


def is_structure(value: Value) -> bool:
    """Whether `tf.nest` flattens the value."""
    return isinstance(value, TupleValue | FrozenList | FrozenDict)


def leaves(value: Value) -> tuple[Value, ...] | None:
    """The leaves of a structure in order (dicts by sorted key, as in `tf.nest`); None if their number is unknown."""
    match value:
        case TupleValue(items):
            parts = [leaves(item) for item in items]
        case FrozenList(items):
            if items is None:
                return None
            parts = [leaves(item) for item in items]
        case FrozenDict(entries, rest):
            if rest is not None:
                return None
            ordered = sorted(entries, key=lambda entry: repr(entry[0]))
            parts = [leaves(entry) for _, entry in ordered]
        case UnknownValue() | UnionValue() | DatasetValue():
            return None if isinstance(value, UnknownValue) else (value,)
        case _:
            return (value,)
    flat: list[Value] = []
    for part in parts:
        if part is None:
            return None
        flat.extend(part)
    return tuple(flat)


def tensor(dtype: DType | None, shape: Shape, kind: TensorKind = TensorKind.TENSOR) -> TensorValue:
    """A tensor of that type."""
    return TensorValue(TensorType(dtype, shape), kind)


def argument_or_unknown(value: Value | None) -> Value:
    """The value itself, or `UNKNOWN` if it is absent."""
    return UNKNOWN if value is None else value
