"""Which element type an operation works in, and which ones it refuses.

Computes: the agreement of two operands' dtypes under TensorFlow's rules (no promotion between tensors; Python numbers and arrays follow the
tensor beside them) and under NumPy's (promotion, Python numbers weak). Gives: small pure functions over dtypes.

Source: behaviour of TensorFlow 2.21 eager and in graphs; `numpy.result_type` of NumPy 2. Where eager code and graphs differ, nothing
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    UNSIGNED,
    DType,
)

NOT_NUMERIC: Final = frozenset({BOOL, STRING})
NOT_SIGNED: Final = NOT_NUMERIC | UNSIGNED
NOT_ORDERED: Final = frozenset({BOOL, STRING}) | COMPLEX
NOT_INTEGER: Final = FLOATING | COMPLEX | {STRING}
NOT_BOOL: Final = NUMERIC | {STRING}
NOT_FLOATING: Final = INTEGER | {BOOL, STRING}
NOT_REAL_FLOATING: Final = NOT_FLOATING | COMPLEX

REFUSED: Final[Mapping[str, frozenset[DType]]] = {
    "+": frozenset({BOOL}),
    "-": NOT_NUMERIC,
    "*": frozenset({STRING}),
    "/": NOT_NUMERIC,
    "//": NOT_NUMERIC,
    "%": NOT_NUMERIC | COMPLEX,
    "**": NOT_NUMERIC,
    "@": frozenset({BOOL, STRING}),
    "<": NOT_ORDERED,
    "<=": NOT_ORDERED,
    ">": NOT_ORDERED,
    ">=": NOT_ORDERED,
    "==": frozenset(),
    "!=": frozenset(),
    "&": NOT_INTEGER,
    "|": NOT_INTEGER,
    "^": NOT_INTEGER,
}
"""For each operator of tensors, the dtypes that it takes neither in eager code nor in graphs."""


def python_value_fits(converted: DType | None, wanted: DType | None) -> bool:
    """Whether a Python value, which alone becomes `converted`, can become a tensor of dtype `wanted`. True where that is not known.

    Ints become any number, floats no ints, texts only texts.
    """
    if converted is None or wanted is None or converted == wanted:
        return True
    if (converted == STRING) != (wanted == STRING):
        return False
    if converted == BOOL:
        return True
    if wanted == BOOL:
        return False
    if converted in FLOATING:
        return wanted in FLOATING or wanted in COMPLEX
    if converted in COMPLEX:
        return wanted in COMPLEX
    return True


def quotient_dtype(dtype: DType | None) -> DType | None:
    """The dtype of a true division: that of the operands, or the float type that stands for an integer type."""
    if dtype in (INT8, UINT8, INT16, UINT16):
        return FLOAT32
    if dtype in INTEGER:
        return FLOAT64
    return dtype


_SIGNED_BITS: Final[Mapping[DType, int]] = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
_UNSIGNED_BITS: Final[Mapping[DType, int]] = {UINT8: 8, UINT16: 16, UINT32: 32, UINT64: 64}
_FLOAT_BITS: Final[Mapping[DType, int]] = {FLOAT16: 16, FLOAT32: 32, FLOAT64: 64}


def numpy_promotion(left: DType | None, right: DType | None) -> DType | None:
    """`numpy.result_type` of two dtypes; None where either is unknown or NumPy has no common one."""
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
    """The bits of the narrowest float type that NumPy takes for a type in company with floats."""
    if dtype in _FLOAT_BITS:
        return _FLOAT_BITS[dtype]
    if dtype in (INT8, UINT8):
        return 16
    if dtype in (INT16, UINT16):
        return 32
    if dtype == COMPLEX64:
        return 32
    return 64


def numpy_promotion_with_python(dtype: DType | None, converted: DType | None) -> DType | None:
    """The dtype of an array of dtype `dtype` in company with a Python number that alone would become `converted` (NumPy 2: it is weak)."""
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
