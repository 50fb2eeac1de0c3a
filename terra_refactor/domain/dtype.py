"""Element types by TensorFlow's names.

Computes: predicates and promotions over dtype names. Gives: `DType`, a plain string such as `float32`, or None where it is unknown.
"""

from __future__ import annotations

from typing import Final, NewType

DType = NewType("DType", str)
"""TensorFlow's name of an element type, see `tf.dtypes`."""

FLOAT16: Final = DType("float16")
BFLOAT16: Final = DType("bfloat16")
FLOAT32: Final = DType("float32")
FLOAT64: Final = DType("float64")
INT8: Final = DType("int8")
INT16: Final = DType("int16")
INT32: Final = DType("int32")
INT64: Final = DType("int64")
UINT8: Final = DType("uint8")
UINT16: Final = DType("uint16")
UINT32: Final = DType("uint32")
UINT64: Final = DType("uint64")
BOOL: Final = DType("bool")
STRING: Final = DType("string")
COMPLEX64: Final = DType("complex64")
COMPLEX128: Final = DType("complex128")
RESOURCE: Final = DType("resource")
VARIANT: Final = DType("variant")

FLOATING: Final = frozenset({FLOAT16, BFLOAT16, FLOAT32, FLOAT64})
SIGNED: Final = frozenset({INT8, INT16, INT32, INT64})
UNSIGNED: Final = frozenset({UINT8, UINT16, UINT32, UINT64})
INTEGER: Final = SIGNED | UNSIGNED
COMPLEX: Final = frozenset({COMPLEX64, COMPLEX128})
NUMERIC: Final = FLOATING | INTEGER | COMPLEX
ALL: Final = NUMERIC | {BOOL, STRING, RESOURCE, VARIANT}


def dtype_named(name: str) -> DType | None:
    """The dtype with that TensorFlow (or NumPy) name; None if there is no such dtype."""
    name = {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "str": "string",
        "bool_": "bool",
    }.get(name, name)
    return DType(name) if name in ALL else None
