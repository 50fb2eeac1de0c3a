"""The conversion of Python numbers, nested lists, arrays and sizes to tensors by TensorFlow and NumPy.

Computes: dtype, shape and (of small integer tensors) content of `tf.convert_to_tensor(value)`. Gives: `convert_rule`,
`Operand`. Source: `tf.convert_to_tensor`, TensorFlow 2.21, eager and in graphs. Ignores: objects with their own
conversion functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different, format_dim
from terra_refactor.domain.dtype import (
    BOOL,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    INTEGER,
    STRING,
    DType,
)
from terra_refactor.domain.shape import Shape, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import content_with_marks, whole_content_roots
from terra_refactor.domain.value import (
    UNKNOWN_INT,
    Constant,
    FrozenDict,
    FrozenList,
    PythonType,
    RangeValue,
    Scalar,
    SequenceValue,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    Value,
)
from terra_refactor.tf_model.arguments import either_type, integers
from terra_refactor.tf_model.dtype_rules import python_value_fits
from terra_refactor.tf_model.spec import ErrorKind, OperationError

CONTENT_LIMIT: Final = 64
"""The content of tensors and arrays with more elements is not kept."""

NDARRAYS: Final = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
"""Arrays of NumPy."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an operation, as a tensor."""

    type: TensorType
    kind: TensorKind | None
    """None for values that are not arrays: Python numbers, structures and unknown values."""
    content: Value | None = None
    weak: bool = False
    """A Python number, string or structure, which takes the dtype of the other operand, a tensor, if possible."""
    packed: bool = False
    """A list or tuple that holds tensors."""
    known: bool = True
    """False if it is unknown whether it can be converted to a tensor."""

    @property
    def is_tensor(self) -> bool:
        return self.kind is not None and self.kind not in NDARRAYS

    @property
    def is_ndarray(self) -> bool:
        return self.kind in NDARRAYS


def fits(part: Operand, wanted: DType | None) -> bool:
    """Whether a Python value can be converted to a tensor of dtype `wanted`; an empty list always can."""
    empty = part.type.shape is not None and 0 in part.type.shape
    return empty or python_value_fits(part.type.dtype, wanted)


def operand(value: Value | None) -> Operand:
    """The value as an operand. Raises OperationError if it certainly cannot be a tensor."""
    if isinstance(value, TensorValue):
        return Operand(value.type, value.kind, value.content)
    if value is None:
        return Operand(TensorType(), None, known=False)
    converted = _converted(value)
    if converted is None:
        return Operand(TensorType(), None, known=False)
    return Operand(converted.type, None, converted.content, weak=True, packed=converted.packed)


def tensor_type(value: Value | None) -> TensorType:
    """The type of `tf.convert_to_tensor(value)`; parts may be unknown."""
    return operand(value).type


def convert_rule(value: Value, dtype: DType | None = None) -> Value:
    """`tf.convert_to_tensor(value, dtype)`.

    Raises OperationError if the value is None, a list of unequal rows, or cannot have that dtype.
    """
    source = operand(value)
    given = source.type.dtype
    if dtype is None:
        if isinstance(value, TensorValue) and value.kind in (TensorKind.TENSOR, TensorKind.KERAS):
            return value
        return TensorValue(source.type, content=source.content)
    if not source.known:
        return TensorValue(TensorType(dtype))
    if source.is_tensor and given is not None and given != dtype:
        raise OperationError(
            ErrorKind.DTYPE,
            f"convert_to_tensor: a tensor of dtype {given} is not converted to {dtype}",
            ("value", "dtype"),
        )
    if source.weak and not source.packed and not fits(source, dtype):
        # eager code casts tensors in a list
        raise OperationError(
            ErrorKind.DTYPE,
            f"convert_to_tensor: a Python value of dtype {given} is not converted to {dtype}",
            ("value", "dtype"),
        )
    if isinstance(value, TensorValue) and value.kind is TensorKind.TENSOR and given == dtype:
        return value
    content = source.content if given == dtype or (given in INTEGER and dtype in INTEGER) else None
    return TensorValue(TensorType(dtype, source.type.shape), content=content)


@dataclass(frozen=True, slots=True)
class _Converted:
    type: TensorType
    content: Value | None = None
    numpy: bool = False
    """An array or number of NumPy, not a list of such."""
    packed: bool = False
    """Holds a tensor: it is converted by `tf.stack`, whose operands all take that tensor's dtype."""


_SCALAR_DTYPES: Final = {
    PythonType.BOOL: BOOL,
    PythonType.INT: INT32,
    PythonType.FLOAT: FLOAT32,
    PythonType.COMPLEX: COMPLEX128,
    PythonType.STR: STRING,
    PythonType.BYTES: STRING,
}


def _converted(value: Value) -> _Converted | None:
    """The converted value; None if unknown."""
    match value:
        case TensorValue(kind=TensorKind.SPARSE | TensorKind.RAGGED):
            return None
        case TensorValue(tensor, kind, content):
            return _Converted(tensor, content, numpy=kind in NDARRAYS, packed=kind not in NDARRAYS)
        case Constant(None):
            raise OperationError(ErrorKind.NONE, "None cannot be converted to a tensor", ("value",))
        case Constant(bool()):
            return _Converted(TensorType(BOOL, ()), value)
        case Constant(int() as number):
            if not -(2**63) <= number < 2**63:
                return _Converted(TensorType(None, ()))
            return _Converted(TensorType(INT32 if -(2**31) <= number < 2**31 else INT64, ()), value)
        case Constant(float()):
            return _Converted(TensorType(FLOAT32, ()), value)
        case Constant(complex()):
            return _Converted(TensorType(COMPLEX128, ()))
        case Constant(str() | bytes()):
            return _Converted(TensorType(STRING, ()), value)
        case Scalar(python_type, dim):
            # an int of unknown size may need 64 bits; ignored unless there is evidence
            return _Converted(
                TensorType(_SCALAR_DTYPES[python_type], ()),
                value if python_type is PythonType.INT and dim is not None else None,
            )
        case TupleValue(items):
            return _packed(items)
        case FrozenList(items, element, length):
            if items is not None:
                return _packed(items)
            return _repeated(element, length)
        case SequenceValue(element, "tuple", length):
            return _repeated(element, length)
        case RangeValue():
            sizes = integers(value)
            if sizes is None:
                return _Converted(TensorType(INT32, (None,)))
            return _Converted(TensorType(INT32, (len(sizes),)), size_content(sizes))
        case ShapeValue(shape):
            if shape is None:
                return None
            return _Converted(TensorType(INT32, (len(shape),)), size_content(shape))
        case FrozenDict():
            raise OperationError(ErrorKind.DTYPE, "a dict cannot be converted to a tensor", ("value",))
        case UnionValue(alternatives):
            return _either(alternatives)
        case _:
            return None


def _either(alternatives: Sequence[Value]) -> _Converted | None:
    """One of several values: what their conversions have in common; None if one is unknown or fails."""
    parts: list[_Converted] = []
    for each in alternatives:
        try:
            part = _converted(each)
        except OperationError:
            return None
        if part is None:
            return None
        parts.append(part)
    dtypes = {_in_list(part) for part in parts}
    common = TensorType(dtypes.pop() if len(dtypes) == 1 else None, either_type([part.type for part in parts]).shape)
    return _Converted(common, packed=any(part.packed for part in parts))


def _repeated(element: Value | None, length: Dim) -> _Converted:
    inner = None if element is None or element == Constant(None) else _converted(element)
    if inner is None:
        return _Converted(TensorType())
    shape = inner.type.shape
    # it is unknown whether a list of unknown length is empty, which gives a float32 of shape (0,)
    return _Converted(TensorType(_in_list(inner), None if shape is None else (length, *shape)), packed=inner.packed)


def _packed(items: Sequence[Value]) -> _Converted:
    if not items:
        return _Converted(TensorType(FLOAT32, (0,)))
    parts = [_with_marks(_converted(item), item) for item in items]
    shape: Shape = None
    for part in parts:
        if part is None or part.type.shape is None:
            continue
        _check_equal_rows(shape, part.type.shape)
        shape = meet_shapes(shape, part.type.shape)
    dtype = _common_dtype(parts)
    known = [part for part in parts if part is not None]
    content: Value | None = None
    if len(known) == len(items) <= CONTENT_LIMIT and all(part.content is not None for part in known):
        elements = tuple(part.content for part in known if part.content is not None)
        if _leaf_count(elements) <= CONTENT_LIMIT and _homogeneous(known):
            content = TupleValue(elements)
    elif len(known) == len(items) <= CONTENT_LIMIT and shape == () and dtype in (INT32, INT64):
        content = TupleValue(tuple(UNKNOWN_INT if part.content is None else part.content for part in known))
    if any(part is None for part in parts):
        # an unknown element may have any rank, but the others determine the only type that works
        if shape is None:
            return _Converted(TensorType(dtype))
    return _Converted(
        TensorType(dtype, None if shape is None else (len(items), *shape)),
        content,
        packed=any(part.packed for part in known),
    )


def _with_marks(part: _Converted | None, item: Value) -> _Converted | None:
    """An element of a list, where each element of the content has its own marks for open sizes in a graph."""
    roots = whole_content_roots(item)
    if part is None or not roots or part.type.dtype not in (INT32, INT64) or part.type.shape != ():
        return part
    return replace(part, content=content_with_marks(part.content, roots))


def _homogeneous(parts: Sequence[_Converted]) -> bool:
    return len({part.type.dtype for part in parts}) == 1


def _leaf_count(elements: Sequence[Value]) -> int:
    return sum(_leaf_count(item.elements) if isinstance(item, TupleValue) else 1 for item in elements)


def _check_equal_rows(left: Shape, right: Shape) -> None:
    if left is None or right is None:
        return
    if len(left) != len(right):
        raise OperationError(
            ErrorKind.RANK,
            f"elements of shapes {format_shape(left)} and {format_shape(right)} cannot be packed into one tensor",
            ("value",),
        )
    for axis, (a, b) in enumerate(zip(left, right, strict=True)):
        if definitely_different(a, b):
            raise OperationError(
                ErrorKind.SHAPE,
                f"elements of shapes {format_shape(left)} and {format_shape(right)} cannot be packed into one tensor "
                f"(axis {axis}: {format_dim(a)} and {format_dim(b)})",
                ("value",),
            )


def _common_dtype(parts: Sequence[_Converted | None]) -> DType | None:
    """The dtype of a list: that of the first tensor in it, otherwise that of its Python numbers together."""
    packed = [part.type.dtype for part in parts if part is not None and part.packed]
    if packed:
        return next((dtype for dtype in packed if dtype is not None), None)
    if any(part is None for part in parts):
        return None
    dtypes = {_in_list(part) for part in parts if part is not None}
    if len(dtypes) == 1:
        return next(iter(dtypes))
    if dtypes == {INT32, INT64}:
        return INT64
    return FLOAT32 if dtypes == {INT32, FLOAT32} else None


def _in_list(part: _Converted) -> DType | None:
    """The dtype that an element contributes to a list. Eager code and graphs keep or replace different NumPy types."""
    dtype, shape = part.type.dtype, part.type.shape
    if not part.numpy or dtype in (BOOL, INT32, FLOAT16, FLOAT32, STRING):
        return dtype
    if shape is None:
        return None
    if shape:
        return FLOAT64 if dtype == FLOAT64 else None
    return INT32 if dtype == INT64 else None


def size_value(dim: Dim) -> Value:
    """A size as a Python int."""
    return Constant(dim) if isinstance(dim, int) else Scalar(PythonType.INT, dim)


def size_content(dims: Sequence[Dim]) -> TupleValue:
    """Sizes as the content of a rank-1 tensor."""
    return TupleValue(tuple(size_value(dim) for dim in dims))


def value_size(value: Value) -> Dim:
    """The int value of an element of a content; None if unknown or not an int."""
    match value:
        case Constant(bool()):
            return None
        case Constant(int() as number):
            return number
        case Scalar(PythonType.INT, dim):
            return dim
        case _:
            return None
