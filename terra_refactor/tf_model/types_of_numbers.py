"""Functions that test the type or identity of a value, and the number types that a class matches in `isinstance`.

Computes: nothing. Gives: `IDENTITY_KEYS`, `NUMBERS`, `accepted_numbers`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.value import PythonType

IDENTITY_KEYS: Final = frozenset({"builtins.id", "builtins.hash"})
"""Functions whose result identifies the object itself."""
NUMBERS: Final = frozenset({PythonType.INT, PythonType.FLOAT, PythonType.BOOL, PythonType.COMPLEX})

_ACCEPTED: Final = {
    "builtins.bool": frozenset({PythonType.BOOL}),
    "builtins.int": frozenset({PythonType.INT, PythonType.BOOL}),
    "builtins.float": frozenset({PythonType.FLOAT}),
    "builtins.complex": frozenset({PythonType.COMPLEX}),
    "numbers.Integral": frozenset({PythonType.INT, PythonType.BOOL}),
    "numbers.Rational": frozenset({PythonType.INT, PythonType.BOOL}),
    "numbers.Real": frozenset({PythonType.INT, PythonType.BOOL, PythonType.FLOAT}),
    "numbers.Complex": NUMBERS,
    "numbers.Number": NUMBERS,
    "builtins.object": NUMBERS,
}


def accepted_numbers(name: str) -> frozenset[PythonType] | None:
    """The number types that are instances of a library class; None for an enumeration, each of whose members may or may
    not be one.
    """
    return None if name.startswith("enum.") else _ACCEPTED.get(name, frozenset())
