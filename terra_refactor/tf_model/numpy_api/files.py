"""The result of `numpy.load`: an array, an archive of arrays, or any pickled object.

Computes: the kind, from its use: an item under a name is an array of an archive, and a method of arrays belongs to an
array. Gives: `LOADED`, `array_in`, `array_with`. Ignores: pickled objects, except that elements of arrays may be any
object. Source: `numpy.load`, NumPy 2.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import Constant, Origin, PythonType, Scalar, SliceValue, TensorKind, TensorValue, Value
from terra_refactor.tf_model.name_table import words

LOADED: Final = Origin("library", "numpy.load")
"""Origin of the unknown value that was loaded."""
_ARRAY: Final = TensorValue(TensorType(), TensorKind.NDARRAY)
_OF_ARRAYS: Final = words(
    "T argmax argmin astype clip copy cumsum dtype flatten max mean min ndim prod ravel repeat reshape round shape size squeeze std sum "
    "swapaxes transpose var"
)
"""Attributes that arrays have and archives lack, or that do not read an element."""


def array_in(index: Value) -> Value | None:
    """The array under a name in an archive, or a part of a loaded array; None if it may be anything."""
    match index:
        case Constant(value=str()) | Scalar(type=PythonType.STR) | SliceValue():
            return _ARRAY
        case _:
            return None


def array_with(attribute: str) -> Value | None:
    """The loaded array, if the attribute is one of arrays; None if it may be anything."""
    return _ARRAY if attribute in _OF_ARRAYS else None
