"""Marks of texts and of unknown values that come from a file beside the program.

Computes: nothing. Gives: `FileMark`, which says which part of which file a value is, and `marked` and `mark_of`, its form as the `dim` of a
text or the `number` of an unknown value: a symbol that is not a size.
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
    """Its name, as a text or a `pathlib.Path`; that of a folder is one, too."""
    STREAM = "stream"
    """The open file."""
    TEXT = "text"
    """Its whole text, after some methods of texts."""
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
        path: the file's path as in reports; after a `?` one relative to the working directory of the program.
        detail: the separator of a table; the methods that were applied to a text, in order.
    """

    part: FilePart
    path: str
    detail: str = ""


def marked(part: FilePart, path: str, detail: str = "") -> SymbolicDim:
    """The mark as a symbol."""
    return symbol(f"{_MARK}{part.value}{_STEP}{path}{_STEP}{detail}")


def text_with(mark: FileMark) -> Scalar:
    """A text that is that part of a file."""
    return Scalar(PythonType.STR, marked(mark.part, mark.path, mark.detail))


def object_with(mark: FileMark) -> UnknownValue:
    """An object of Python that is that part of a file."""
    return UnknownValue(False, number=marked(mark.part, mark.path, mark.detail))


def mark_of(value: Value | None) -> FileMark | None:
    """The part of a file that a value is; None for all others."""
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
