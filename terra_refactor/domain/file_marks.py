"""Marks for strings and unknown values that come from a file of the repository.

Computes: nothing. Gives: `FileMark`, the part of a file that a value is; `marked` and `mark_of`, which encode it as
the `dim` of a string or the `number` of an unknown value: a symbol that is not a size.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from terra_refactor.domain.dim import Dim, SymbolicDim, symbol
from terra_refactor.domain.value import PythonType, Scalar, UnknownValue, Value

_MARK: Final = "@"
_STEP: Final = "\n"


class FilePart(Enum):
    """The part of a file that a value represents."""

    __hash__ = object.__hash__

    PATH = "path"
    """The path of a file or folder, as a string or a `pathlib.Path`."""
    STREAM = "stream"
    """The open file."""
    TEXT = "text"
    """Its whole text, perhaps after some string methods."""
    LINE = "line"
    """One of its lines."""
    TABLE = "table"
    """A reader of its lines as lists of fields."""
    ARCHIVE = "archive"
    """An archive of arrays, which is read by name."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """A part of a file.

    Attributes:
        part: which.
        path: the file's path as in reports; with a leading `?` if it is relative to the working directory of the
            program.
        detail: the separator of a table; the methods that were applied to a string, in order.
    """

    part: FilePart
    path: str
    detail: str = ""


def marked(part: FilePart, path: str, detail: str = "") -> SymbolicDim:
    """The mark as a symbol."""
    return symbol(f"{_MARK}{part.value}{_STEP}{path}{_STEP}{detail}")


def text_with(mark: FileMark) -> Scalar:
    """The string that stands for this part of a file."""
    return Scalar(PythonType.STR, marked(mark.part, mark.path, mark.detail))


def object_with(mark: FileMark) -> UnknownValue:
    """The Python object that stands for this part of a file."""
    return UnknownValue(False, number=marked(mark.part, mark.path, mark.detail))


def mark_of(value: Value | None) -> FileMark | None:
    """The part of a file that a value is; None for other values."""
    if isinstance(value, Scalar) and value.type is PythonType.STR:
        return _mark(value.dim)
    return _mark(value.number) if isinstance(value, UnknownValue) else None


def _mark(dim: Dim) -> FileMark | None:
    match dim:
        case SymbolicDim(terms=(((str() as name,), 1),)) if name.startswith(_MARK):
            part, path, detail = name[1:].split(_STEP, 2)
            return FileMark(FilePart(part), path, detail)
        case _:
            return None
