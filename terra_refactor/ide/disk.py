"""Files on disk as last read by a session.

Gives: `DiskFile`, `read_disk`, `stamp_of`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from terra_refactor.errors import SourceError
from terra_refactor.syntax.source import Source, read_source
from terra_refactor.workspace.results import FileError


@dataclass(frozen=True, slots=True)
class DiskFile:
    """State of a file on disk."""

    stamp: tuple[int, int] | None
    source: Source | FileError
    file: str
    """The path that opens it, which differs from the displayed path if that cannot represent it."""


def read_disk(path: str) -> DiskFile:
    """The file, or the reason why it cannot be read."""
    try:
        source: Source | FileError = read_source(path)
    except SourceError as error:
        source = FileError(error.path, error.line or 0, error.message)
    return DiskFile(stamp_of(path), source, path)


def stamp_of(path: str) -> tuple[int, int] | None:
    """Time of the last change and size; None for a missing file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
