"""The dtype in which an operation computes, and the dtypes that it rejects.

Computes: the agreement of two operands' dtypes under TensorFlow's rules: no promotion between tensors; Python numbers
and arrays take the dtype of the other operand. NumPy's rules are in `numpy_dtypes.py`. Gives: small pure functions
over dtypes.

Source: behaviour of TensorFlow 2.21 eager and in graphs. Dtypes for which the two differ are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import (
    BOOL,
    COMPLEX,
    FLOAT32,
    FLOAT64,
    FLOATING,
    INT8,
    INT16,
    INTEGER,
    STRING,
    UINT8,
    UINT16,
    UNSIGNED,
    DType,
)

NOT_NUMERIC: Final = frozenset({BOOL, STRING})
NOT_SIGNED: Final = NOT_NUMERIC | UNSIGNED
NOT_ORDERED: Final = frozenset({BOOL, STRING}) | COMPLEX
NOT_INTEGER: Final = FLOATING | COMPLEX | {STRING}
NOT_FLOATING: Final = INTEGER | {BOOL, STRING}

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
"""For each operator of tensors, the dtypes that it rejects both in eager code and in graphs."""


def python_value_fits(converted: DType | None, wanted: DType | None) -> bool:
    """Whether a Python value, which on its own is converted to `converted`, can be converted to dtype `wanted`. True if
    unknown.

    Ints convert to any number, floats not to ints, strings only to strings.
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
    """The dtype of a true division: that of the operands, or the float type used for an integer type."""
    if dtype in (INT8, UINT8, INT16, UINT16):
        return FLOAT32
    if dtype in INTEGER:
        return FLOAT64
    return dtype
