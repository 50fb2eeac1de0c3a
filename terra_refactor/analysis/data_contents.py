"""Contents of data files, from their bytes: JSON, TOML, YAML and INI as trees, the header of a NumPy array, tables of text.

Computes: pure functions of bytes or texts. Gives: `tree_of`, `text_of`, `array_header`, `archive_headers`,
`table_shape`, `rows_of_table`, `fields_of_lines`. None if the content is malformed or in another format. Nothing is
executed, and no object is unpickled.
"""

from __future__ import annotations

import ast
import base64
import configparser
import csv
import io
import json
import posixpath
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from terra_refactor.config import parse_toml
from terra_refactor.errors import UsageError

MAX_ROWS: Final = 200_000
_MAX_HEADER: Final = 4_000


@lru_cache(maxsize=64)
def tree_of(path: str, data: bytes) -> object:
    """The content as dicts, lists, numbers and strings; None if the file is malformed or in another format.

    INI: sections, each with the defaults; keys in lower case, values as strings.
    """
    reader = _READERS.get(posixpath.splitext(path)[1].lower())
    text = text_of(data)
    if reader is None or text is None:
        return None
    try:
        return reader(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, configparser.Error, UsageError):
        return None


def text_of(data: bytes) -> str | None:
    """The text of a file as Python reads it by default; None if it is not UTF-8."""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None


def _ini(text: str) -> object:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return {name: dict(section) for name, section in parser.items()}


def _toml(text: str) -> object:
    return parse_toml(text)


def _yaml(text: str) -> object:
    from terra_refactor.analysis.yaml_contents import yaml_tree  # noqa: PLC0415 - PyYAML takes 20 ms

    return yaml_tree(text)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": json.loads,
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".ini": _ini,
    ".cfg": _ini,
    ".conf": _ini,
}


# --- arrays -------------------------------------------------------------------------------------------------------------------------

_MAGIC: Final = b"\x93NUMPY"


def array_header(data: bytes) -> tuple[str, tuple[int, ...]] | None:
    """Element type (in NumPy's notation: `<f4`) and shape of a `.npy` file; None if it is not one, or holds records."""
    if data[:6] != _MAGIC or len(data) < 12:
        return None
    size, start = (data[8] | data[9] << 8, 10) if data[6] == 1 else (int.from_bytes(data[8:12], "little"), 12)
    if size > _MAX_HEADER:
        return None
    try:
        header = ast.literal_eval(data[start : start + size].decode("latin-1").strip())
        kind, shape = header["descr"], header["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
        return None
    if not isinstance(kind, str) or not isinstance(shape, tuple):
        return None
    return (kind, shape) if all(type(size) is int and size >= 0 for size in shape) else None


@lru_cache(maxsize=64)
def archive_headers(data: bytes) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    """Element types and shapes of the arrays of an archive, by name, as in `array_header`; None if one is malformed.

    `data` holds the beginnings of the arrays, as read by `workspace.array_archives`.
    """
    try:
        found = {name: array_header(base64.b64decode(text)) for name, text in json.loads(data).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    known = {name: header for name, header in found.items() if header is not None}
    return known if len(known) == len(found) else None


# --- tables -------------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def table_shape(text: str, separator: str | None, skipped: int, comment: str) -> tuple[int, int] | None:
    """Rows and columns of the numbers in a table; None if the rows differ in length, or there are none."""
    counts: set[int] = set()
    rows = 0
    for line in text.split("\n")[skipped:]:
        bare = line.partition(comment)[0].strip() if comment else line.strip()
        if bare:
            counts.add(len(bare.split(separator)))
            rows += 1
    return (rows, counts.pop()) if len(counts) == 1 and rows <= MAX_ROWS else None


@lru_cache(maxsize=64)
def rows_of_table(text: str, separator: str) -> tuple[int, tuple[str, ...]] | None:
    """The number of rows of a table, and the fields of the first; None if a line is empty, or if there are no rows or
    too many.
    """
    rows = 0
    first: tuple[str, ...] = ()
    try:
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            if not row or rows >= MAX_ROWS:
                return None
            first = first or tuple(row)
            rows += 1
    except (csv.Error, TypeError):
        return None
    return (rows, first) if rows else None


@lru_cache(maxsize=64)
def fields_of_lines(text: str, separator: str | None, *, quoted: bool = False) -> int | None:
    """The number of fields of each line; None if they differ."""
    lines = [line for line in text.split("\n") if line.strip()]
    if quoted:
        try:
            counts = {len(row) for row in csv.reader(lines, delimiter=separator or ",")}
        except (csv.Error, TypeError):
            return None
    else:
        counts = {len(line.strip().split(separator)) for line in lines}
    return counts.pop() if len(counts) == 1 else None
