"""Recorded types as values: what a parameter may be, by what came in a run.

Computes: a value that says of what kind an argument is. Needs: what was recorded. Gives: `recorded_parameters`.

A run shows what happened and not what must happen. So dtype and shape are left out: a rule could be certain of something by them, and no
error may rest on a run. And where anything came that has no such value (an object, a list, a symbolic tensor), nothing is said.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN_TENSOR,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.record.record_file import Described, FunctionSeen

_KINDS: Final = {
    "tensor": UNKNOWN_TENSOR,
    "variable": TensorValue(TensorType(), TensorKind.VARIABLE),
    "ndarray": TensorValue(TensorType(), TensorKind.NDARRAY),
}
_PYTHON: Final = {kind.value: Scalar(kind) for kind in PythonType} | {"NoneType": NONE}


def recorded_parameters(seen: FunctionSeen) -> dict[str, Value]:
    """The values of the parameters of which a run shows what they are."""
    found: dict[str, Value] = {}
    for parameter in seen.parameters:
        values = [_value(each.type) for each in parameter.types]
        told = [value for value in values if value is not None]
        if told and len(told) == len(values):
            found[parameter.name] = join_all(told)
    return found


def _value(described: Described) -> Value | None:
    match described:
        case ("tensor" | "variable" | "ndarray" as kind, *_):
            return _KINDS[kind]
        case ("primitive", str(name)):
            return _PYTHON.get(name)
        case ("container", "tuple", tuple(elements)):
            values = [_value(element) for element in elements]
            told = tuple(value for value in values if value is not None)
            return TupleValue(told) if len(told) == len(values) else None
        case _:
            return None
