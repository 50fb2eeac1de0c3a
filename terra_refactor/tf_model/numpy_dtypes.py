"""The dtype in which NumPy computes, and the dtypes that an operator rejects.

Computes: the common dtype of operands, by their values as in NumPy 1 and by their types as in NumPy 2, and the dtype
of an operator's result. Gives: small pure functions over dtypes.

Source: `numpy.result_type`, `numpy.can_cast` and the operators of NumPy 1.26 and 2. Where these versions differ, the
result is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Final

from terra_refactor.domain.dtype import (
    BFLOAT16,
    BOOL,
    COMPLEX,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGER,
    NUMERIC,
    SIGNED,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    UNSIGNED,
    DType,
)
from terra_refactor.tf_model.spec import ErrorKind, OperationError

_SIGNED_BITS: Final[Mapping[DType, int]] = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
_UNSIGNED_BITS: Final[Mapping[DType, int]] = {UINT8: 8, UINT16: 16, UINT32: 32, UINT64: 64}
_FLOAT_BITS: Final[Mapping[DType, int]] = {FLOAT16: 16, FLOAT32: 32, FLOAT64: 64}


def numpy_promotion(left: DType | None, right: DType | None) -> DType | None:
    """`numpy.result_type` of two dtypes; None if one is unknown or there is no common one."""
    if left is None or right is None:
        return None
    if left == right:
        return left
    if STRING in (left, right) or BFLOAT16 in (left, right):
        return None
    if left == BOOL:
        return right
    if right == BOOL:
        return left
    if left not in NUMERIC or right not in NUMERIC:
        return None
    if left in COMPLEX or right in COMPLEX:
        wide = any(dtype == COMPLEX128 or _float_bits(dtype) == 64 for dtype in (left, right))
        return COMPLEX128 if wide else COMPLEX64
    if left in FLOATING or right in FLOATING:
        bits = max(_float_bits(left), _float_bits(right))
        return {16: FLOAT16, 32: FLOAT32, 64: FLOAT64}[bits]
    if left in _SIGNED_BITS and right in _SIGNED_BITS:
        return max(left, right, key=lambda dtype: _SIGNED_BITS[dtype])
    if left in _UNSIGNED_BITS and right in _UNSIGNED_BITS:
        return max(left, right, key=lambda dtype: _UNSIGNED_BITS[dtype])
    signed, unsigned = (left, right) if left in _SIGNED_BITS else (right, left)
    bits = max(_SIGNED_BITS[signed], 2 * _UNSIGNED_BITS[unsigned])
    return {16: INT16, 32: INT32, 64: INT64}.get(bits, FLOAT64)


def _float_bits(dtype: DType) -> int:
    """The bits of the narrowest float type that NumPy uses for a dtype in combination with floats."""
    if dtype in _FLOAT_BITS:
        return _FLOAT_BITS[dtype]
    if dtype in (INT8, UINT8):
        return 16
    if dtype in (INT16, UINT16):
        return 32
    if dtype == COMPLEX64:
        return 32
    return 64


class NumpyRole(Enum):
    """The role of an operand in NumPy's choice of a dtype."""

    ARRAY = "array"
    """It has axes. An array of unknown rank counts as an array."""
    SCALAR = "scalar"
    """A NumPy scalar, or an array of rank 0."""
    NUMBER = "number"
    """A Python number."""


@dataclass(frozen=True, slots=True)
class NumpyOperand:
    """The properties of an operand that NumPy uses; a Python number has the dtype to which it is converted on its own."""

    dtype: DType | None
    role: NumpyRole = NumpyRole.ARRAY
    number: complex | None = None
    """The number, if it is a known number."""


def numpy_common(
    operands: Sequence[NumpyOperand], result: Callable[[DType | None], DType | None] | None = None
) -> DType | None:
    """The dtype in which NumPy computes, or that of the result; None if unknown, or if NumPy 1 and 2 differ.

    NumPy 2 uses types only, and Python numbers take the type of the other operand. NumPy 1 uses the values of numbers
    and of arrays of rank 0 if they are combined with other arrays, and treats Python numbers as 64-bit otherwise.
    Raises the exception of `result` if it is raised for both.
    """
    answers: list[DType | None] = []
    failure: OperationError | None = None
    for dtype in (_common_of_types(operands), _common_of_values(operands)):
        try:
            answers.append(dtype if result is None else result(dtype))
        except OperationError as error:
            failure = error
    if failure is not None and not answers:
        raise failure
    return answers[0] if len(answers) == 2 and answers[0] == answers[1] else None


def _promoted(dtypes: Iterable[DType | None]) -> DType | None:
    common: DType | None = None
    for number, dtype in enumerate(dtypes):
        common = dtype if number == 0 else numpy_promotion(common, dtype)
    return common


def _common_of_types(operands: Sequence[NumpyOperand]) -> DType | None:
    """The common dtype in NumPy 2."""
    strong = [item.dtype for item in operands if item.role is not NumpyRole.NUMBER]
    weak = [item for item in operands if item.role is NumpyRole.NUMBER]
    if not strong:
        return _promoted(item.dtype for item in weak)
    common = _promoted(strong)
    for item in weak:
        common = _with_number(common, item.dtype)
    return common


def _with_number(dtype: DType | None, converted: DType | None) -> DType | None:
    """The dtype of an array combined with a Python number that on its own is converted to `converted`, if only types count."""
    if dtype is None or converted is None:
        return None
    if converted in (BOOL, dtype):
        return dtype
    if converted in INTEGER:
        return INT64 if dtype == BOOL else dtype
    if converted in FLOATING:
        return FLOAT64 if dtype == BOOL or dtype in INTEGER else dtype
    if converted in COMPLEX:
        if dtype in (FLOAT16, FLOAT32, COMPLEX64):
            return COMPLEX64
        return COMPLEX128
    return None


def _common_of_values(operands: Sequence[NumpyOperand]) -> DType | None:
    """The common dtype in NumPy 1; None also if it depends on an unknown value."""
    arrays = [item for item in operands if item.role is NumpyRole.ARRAY]
    single = [item for item in operands if item.role is not NumpyRole.ARRAY]
    if any(item.dtype is None for item in operands):
        return None
    kinds = [max((_category(item.dtype) for item in part), default=-1) for part in (arrays, single)]
    if not arrays or not single or kinds[1] > kinds[0]:
        return _promoted(item.dtype for item in operands)
    common = _promoted(item.dtype for item in arrays)
    for item in single:
        common = _with_value(common, item)
    return common


def _category(dtype: DType | None) -> int:
    if dtype == BOOL:
        return 0
    return 1 if dtype in INTEGER else 2


def _with_value(common: DType | None, item: NumpyOperand) -> DType | None:
    """The dtype of arrays combined with one value, for which the smallest type that holds it is used."""
    if common is None or item.dtype == BOOL:
        return common
    if item.role is NumpyRole.SCALAR:
        # depending on its value, a type between its own and the smallest of its kind is used
        smallest = FLOAT16 if item.dtype in FLOATING else COMPLEX64 if item.dtype in COMPLEX else common
        widest = numpy_promotion(common, item.dtype)
        return widest if widest == numpy_promotion(common, smallest) else None
    if item.number is None:
        # unknown numbers are assumed to be small
        if item.dtype in INTEGER and common not in (INT32, INT64, FLOAT32, FLOAT64, *COMPLEX):
            return None
        return numpy_promotion(common, COMPLEX64) if item.dtype in COMPLEX else common
    return numpy_promotion(common, _smallest(item.number, common))


def _smallest(number: complex, beside: DType) -> DType:
    """The smallest type that holds a number, combined with arrays of that type."""
    if isinstance(number, int):
        signed = number < 0 or beside in _SIGNED_BITS
        names = _SIGNED_BITS if signed else _UNSIGNED_BITS
        for dtype, bits in names.items():
            top = 2 ** (bits - 1 if signed else bits)
            if (-top if signed else 0) <= number < top:
                return dtype
        return FLOAT64
    size = max(abs(number.real), abs(number.imag))
    if isinstance(number, float):
        return FLOAT16 if size < 65000 or not isfinite(size) else FLOAT32 if size < 3.4e38 else FLOAT64
    return COMPLEX64 if size < 3.4e38 or not isfinite(size) else COMPLEX128


_KINDS: Final = ({BOOL}, UNSIGNED, SIGNED, FLOATING, COMPLEX)


def stays_in_kind(dtype: DType | None, target: DType | None) -> bool:
    """Whether NumPy writes a result of one dtype into an array of another (`numpy.can_cast(..., "same_kind")`); True if unknown."""
    places = [next((place for place, kind in enumerate(_KINDS) if name in kind), None) for name in (dtype, target)]
    return places[0] is None or places[1] is None or places[0] <= places[1]


def numpy_result(op: str, dtype: DType | None) -> DType | None:
    """The dtype of `left <op> right` computed in `dtype`. Raises OperationError if NumPy has no such operation."""
    if dtype is not None and dtype in _NUMPY_REFUSED.get(op, frozenset()):
        raise OperationError(ErrorKind.DTYPE, f"operator {op}: not supported for NumPy arrays of dtype {dtype}")
    if dtype not in NUMERIC and dtype != BOOL:
        return None
    if op == "/" and (dtype in INTEGER or dtype == BOOL):
        return FLOAT64
    return INT8 if dtype == BOOL and op in ("//", "%", "**", "<<", ">>") else dtype


_NUMPY_REFUSED: Final[Mapping[str, frozenset[DType]]] = {
    "-": frozenset({BOOL}),
    "//": COMPLEX,
    "%": COMPLEX,
    **dict.fromkeys(("&", "|", "^", "<<", ">>"), FLOATING | COMPLEX),
}
"""For each array operator, the dtypes that NumPy rejects."""


def real_dtype(dtype: DType | None) -> DType | None:
    """The type of the real part."""
    if dtype == COMPLEX64:
        return FLOAT32
    return FLOAT64 if dtype == COMPLEX128 else dtype


def _scalar_classes(dtype: DType | None) -> frozenset[str] | None:
    kind = next((names for names in _SCALAR_CLASSES if dtype in names), None)
    if dtype is None or kind is None:
        return None
    own = {f"numpy.{dtype}", "numpy.bool_"} if dtype == BOOL else {f"numpy.{dtype}"}
    # the methods of Python's floats and complex numbers are inherited
    python = {FLOAT64: {"builtins.float"}, COMPLEX128: {"builtins.complex"}}.get(dtype, set())
    return frozenset({"numpy.generic", "builtins.object"} | _SCALAR_CLASSES[kind] | own | python)


_NUMBER: Final = {"numpy.number", "numbers.Number", "numbers.Complex"}
_INTEGER: Final = _NUMBER | {"numpy.integer", "numbers.Real", "numbers.Rational", "numbers.Integral"}
_SCALAR_CLASSES: Final[Mapping[frozenset[DType], set[str]]] = {
    frozenset({BOOL}): set(),
    SIGNED: _INTEGER | {"numpy.signedinteger"},
    UNSIGNED: _INTEGER | {"numpy.unsignedinteger"},
    FLOATING - {BFLOAT16}: _NUMBER | {"numpy.inexact", "numpy.floating", "numbers.Real"},
    COMPLEX: _NUMBER | {"numpy.inexact", "numpy.complexfloating"},
}
_NAMED: Final = frozenset(f"numpy.{dtype}" for kind in _SCALAR_CLASSES for dtype in kind) | {
    "numpy.bool_",
    "numpy.generic",
}


def scalar_is_instance(dtype: DType | None, cls: str) -> bool | None:
    """Whether a NumPy scalar of a dtype is an instance of a library class; None if unknown."""
    classes = _scalar_classes(dtype)
    if classes is None:
        return True if cls in ("numpy.generic", "builtins.object") else None
    if cls in classes:
        return True
    known = cls.startswith("builtins.") or cls in _NAMED or any(cls in names for names in _SCALAR_CLASSES.values())
    return False if known else None
