"""Notebooks: one module made of the code cells, and the mapping back to the JSON document.

Computes: the module text of a notebook (nbformat 4 or 3) and the place of every cell in it.
Needs: the text of the `.ipynb` document. Gives: `Notebook`, which maps lines both ways and writes an edited module text back so that
nothing but the edited cells' sources changes in the document.
Ignores: outputs, metadata and other kinds of cells, which are kept unchanged.

Each code cell is introduced by a comment line (`# %% cell 3`, its place in the document, counted from 0). IPython's own syntax
(magics, shell lines, `?` help) is replaced, line for line, by a placeholder that Python parses, and put back on writing:

    %matplotlib inline      ->  pass  # %% kept 0
    files = !ls             ->  files = get_ipython()  # %% kept 1
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from terra_refactor.errors import SourceError
from terra_refactor.syntax.layout import LogicalLines

_PYTHON_CELL_MAGICS = frozenset(
    {"time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun", "heat", "pyspark", "tracemalloc"}
)
"""Cell magics whose body is Python that runs in the notebook's own namespace."""

_LINE_MAGIC = re.compile(r"(?P<indent>[ \t]*)(?P<rest>(?:%|!|\?|,|;|/(?=\w))\S?.*)", re.DOTALL)
_HELP = re.compile(r"(?P<indent>[ \t]*)%{0,2}[\w.*]+(?:\[[^\]]*\])?\?{1,2}[ \t]*$")
_ASSIGNED_MAGIC = re.compile(r"(?P<target>[ \t]*[\w.,*()\[\]'\" \t]+?[ \t]*=[ \t]*)(?:%(?=[A-Za-z])|!(?!=))")
_WHITESPACE = re.compile(r"[ \t\r\n]*")
_WRITTEN_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
"""One character of a JSON string in the document: a surrogate pair, an escape, or a plain character."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell.

    Attributes:
        index: its place among all cells of the document, counted from 0.
        line: the module line of its first line, counted from 1.
        line_count: number of lines of its source.
        source: its source as the document holds it.
    """

    index: int
    line: int
    line_count: int
    source: str


@dataclass(frozen=True, slots=True)
class _SourceField:
    """Where the document holds a cell's source: offsets of the JSON value, and whether it is a list of lines."""

    start: int
    end: int
    is_list: bool


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as one module.

    Attributes:
        document: the JSON text as it was read.
        module_text: the text of the module made of the code cells.
        cells: the code cells, in the order of the document.
    """

    document: str = field(repr=False)
    module_text: str = field(repr=False)
    cells: tuple[Cell, ...]
    _fields: tuple[_SourceField, ...] = field(repr=False)
    _kept_lines: tuple[str, ...] = field(repr=False)
    _sign: str = "%%"

    def cell_line(self, line: int) -> tuple[int, int] | None:
        """The cell (its index in the document) and the line in it, counted from 1, of a module line; None for a separator line."""
        at = bisect.bisect_right([cell.line for cell in self.cells], line) - 1
        if at < 0:
            return None
        cell = self.cells[at]
        inside = line - cell.line + 1
        return (cell.index, inside) if inside <= cell.line_count else None

    def module_line(self, cell_index: int, line: int) -> int:
        """The module line of a line (counted from 1) of a cell.

        Raises:
            KeyError: there is no such code cell.
            ValueError: the cell has no such line.
        """
        for cell in self.cells:
            if cell.index == cell_index:
                if not 1 <= line <= cell.line_count:
                    raise ValueError(f"cell {cell_index} has no line {line}")
                return cell.line + line - 1
        raise KeyError(cell_index)

    def document_place(self, line: int, column: int) -> tuple[int, int]:
        """The line and column of the document, both counted from 1, of a place of the module text.

        A place outside all cells (a separator) maps to the beginning of the next cell, or the end of the last.
        """
        at = min(
            bisect.bisect_left([cell.line + cell.line_count for cell in self.cells], line + 1), len(self.cells) - 1
        )
        if at < 0:
            return 1, 1
        cell, place = self.cells[at], self._fields[at]
        lines = cell.source.split("\n")
        inside = min(max(line - cell.line, 0), len(lines) - 1)
        wanted = 0 if line < cell.line else min(column - 1, len(lines[inside]))
        offset = self._document_offset(place, sum(len(text) + 1 for text in lines[:inside]) + wanted)
        return self.document.count("\n", 0, offset) + 1, offset - self.document.rfind("\n", 0, offset)

    def _document_offset(self, place: _SourceField, offset: int) -> int:
        """The offset in the document of a character of a cell's source; `offset` counts characters of the source."""
        starts = list(_elements(self.document, place.start)) if place.is_list else [place.start]
        for start in starts:
            text, end = _DECODER.raw_decode(self.document, start)
            if offset < len(text) or start == starts[-1]:
                at = start + 1
                for _ in range(min(offset, len(text))):
                    unit = _WRITTEN_CHARACTER.match(self.document, at, end - 1)
                    at = unit.end() if unit is not None else at
                return at
            offset -= len(text)
        return place.start  # a cell without lines

    def cell_sources(self, text: str, path: str) -> tuple[str, ...]:
        """The sources of the code cells, in order, after the module text became `text`.

        Raises:
            SourceError: a separator or a kept line was lost in the edit.
        """
        pieces: list[str] = []
        head = ""
        at = 0
        for cell in self.cells:
            separator = _separator(self._sign, cell.index)
            found = _find_line(text, separator, at)
            if found is None:
                raise SourceError(path, f"the edit lost the beginning of cell {cell.index}")
            if pieces:
                pieces[-1] = text[at:found]
            else:
                head = text[:found]  # text inserted before the first cell belongs to it
            at = found + len(separator) + 1
            pieces.append("")
        if not pieces:
            return ()
        pieces[-1] = text[at:]
        pieces[0] = head + pieces[0]
        return tuple(self._restored(piece.removesuffix("\n"), path) for piece in pieces)

    def with_module_text(self, text: str, path: str) -> str:
        """The JSON document after the module text became `text`; only changed cells are rewritten.

        Raises:
            SourceError: a separator or a kept line was lost in the edit.
        """
        if text == self.module_text:
            return self.document
        parts: list[str] = []
        at = 0
        for cell, place, new in zip(self.cells, self._fields, self.cell_sources(text, path), strict=True):
            if new != cell.source:
                parts.append(self.document[at : place.start])
                parts.append(_encoded_source(self.document, place, new))
                at = place.end
        parts.append(self.document[at:])
        return "".join(parts)

    def _restored(self, source: str, path: str) -> str:
        mark = re.compile(rf"^.*# {self._sign} kept (\d+)$", re.MULTILINE)
        kept = self._kept_lines

        def original(found: re.Match[str]) -> str:
            number = int(found.group(1))
            if number >= len(kept):
                raise SourceError(path, "the edit touched a line that only IPython understands")
            return kept[number]

        return mark.sub(original, source)


def read_notebook(document: str, path: str) -> Notebook:
    """Read the text of an `.ipynb` document.

    Raises:
        SourceError: it is not JSON, not a notebook, not of nbformat 3 or 4, or not in Python.
    """
    try:
        data = _DECODER.decode(document)
    except json.JSONDecodeError as error:
        raise SourceError(path, f"is not a notebook: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise SourceError(path, "is not a notebook: its JSON is nested too deeply") from error
    except ValueError as error:
        raise SourceError(path, "is not a notebook: its JSON holds a number of too many digits") from error
    cells = _checked_cells(data, path)
    is_old = data["nbformat"] == 3
    source_key = "input" if is_old else "source"
    places = _cells_of_worksheets(document) if is_old else _cells(document)
    fields = dict(_source_fields(document, places, source_key))
    indices = [index for index, cell in enumerate(cells) if _is_python(cell) and index in fields]
    sources = [_joined_source(cells[index][source_key], path) for index in indices]
    sign = "%%"
    while any(f"# {sign} cell " in source or f"# {sign} kept " in source for source in sources):
        sign += "%"
    return _assemble(document, indices, sources, [fields[index] for index in indices], sign)


def _checked_cells(data: Any, path: str) -> list[Any]:
    """The cells of a notebook.

    Raises:
        SourceError: it is not a notebook in Python.
    """
    if not isinstance(data, dict) or "nbformat" not in data:
        raise SourceError(path, "is not a notebook: it has no nbformat")
    if data["nbformat"] not in (3, 4):
        raise SourceError(
            path,
            f"is a notebook of nbformat {data['nbformat']}; only 3 and 4 are read (`jupyter nbconvert --to notebook` updates it)",
        )
    cells = _old_cells(data) if data["nbformat"] == 3 else data.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise SourceError(path, "is not a notebook: it has no list of cells")
    metadata = data.get("metadata")
    if isinstance(metadata, dict):
        for key in ("kernelspec", "language_info"):
            info = metadata.get(key)
            language = info.get("language" if key == "kernelspec" else "name") if isinstance(info, dict) else None
            if isinstance(language, str) and language and language.lower() not in {"python", "python3", "ipython"}:
                raise SourceError(path, f"is a notebook in {language}, not in Python")
    return cells


def _old_cells(data: Any) -> list[Any] | None:
    """The cells of a notebook of nbformat 3, which lie in worksheets; None if they do not."""
    worksheets = data.get("worksheets")
    if not isinstance(worksheets, list) or not all(isinstance(sheet, dict) for sheet in worksheets):
        return None
    parts = [sheet.get("cells", []) for sheet in worksheets]
    return [cell for part in parts for cell in part] if all(isinstance(part, list) for part in parts) else None


def _is_python(cell: Any) -> bool:
    """Whether it is a Python code cell; in nbformat 3 each cell has its own language."""
    return cell.get("cell_type") == "code" and cell.get("language") in (None, "", "python")


def _joined_source(source: Any, path: str) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    raise SourceError(path, "is not a notebook: a cell's source is neither text nor a list of lines")


def _assemble(document: str, indices: list[int], sources: list[str], fields: list[_SourceField], sign: str) -> Notebook:
    kept: list[str] = []
    parts: list[str] = []
    cells: list[Cell] = []
    line = 1
    for index, source in zip(indices, sources, strict=True):
        body = _with_placeholders(source, sign, kept)
        parts.append(f"{_separator(sign, index)}\n{body}\n")
        count = body.count("\n") + 1
        cells.append(Cell(index=index, line=line + 1, line_count=count, source=source))
        line += count + 1
    return Notebook(document, "".join(parts), tuple(cells), tuple(fields), tuple(kept), sign)


def _separator(sign: str, index: int) -> str:
    return f"# {sign} cell {index}"


def _find_line(text: str, line: str, start: int) -> int | None:
    found = re.compile(rf"^{re.escape(line)}$", re.MULTILINE).search(text, start)
    return found.start() if found is not None else None


def _with_placeholders(source: str, sign: str, kept: list[str]) -> str:
    """The cell's source with each line of IPython syntax replaced; the replaced lines are appended to `kept`."""
    lines = source.split("\n")

    def keep(at: int, replacement: str) -> None:
        lines[at] = f"{replacement}# {sign} kept {len(kept)}"
        kept.append(originals[at])

    originals = list(lines)
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        name = re.match(r"%%(\w*)", lines[first])
        python_body = name is not None and name.group(1) in _PYTHON_CELL_MAGICS
        for at in range(first, len(lines)):
            if at == first or not python_body:
                keep(at, "")
        if not python_body:
            return "\n".join(lines)
    scan = LogicalLines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if scan.at_start and (replacement := _placeholder(line)) is not None:
            keep(at, replacement)
            while originals[at].rstrip().endswith("\\") and at + 1 < len(lines):
                at += 1
                keep(at, "")
        else:
            scan.feed(line)
        at += 1
    return "\n".join(lines)


def _placeholder(line: str) -> str | None:
    """The placeholder for the first line of a statement in IPython syntax; None if it is Python."""
    help_line = _HELP.match(line)
    if help_line is not None:
        return f"{help_line['indent']}pass  "
    stripped = line.lstrip(" \t")
    if stripped[:1] in {"%", "!", "?"} or re.match(r"[,;/](?=[A-Za-z_])", stripped):
        return f"{line[: len(line) - len(stripped)]}pass  "
    assigned = _ASSIGNED_MAGIC.match(line)
    if assigned is not None:
        return f"{assigned['target']}get_ipython()  "
    return None


def _source_fields(document: str, cells: Iterable[int], source_key: str) -> Iterator[tuple[int, _SourceField]]:
    """The place of each cell's source in the document, by the cell's index. The document is known to be valid JSON."""
    for index, cell in enumerate(cells):
        for name, value in _members(document, cell):
            if name == source_key:
                yield index, _SourceField(value, _value_end(document, value), document[value] == "[")


def _cells(document: str, at: int = 0) -> Iterator[int]:
    """The offset of every cell of the object that begins at `at`; of several `cells` keys, the last one counts."""
    found = [start for key, start in _members(document, _skip(document, at)) if key == "cells"]
    if found:
        yield from _elements(document, found[-1])


def _cells_of_worksheets(document: str) -> Iterator[int]:
    found = [start for key, start in _members(document, _skip(document, 0)) if key == "worksheets"]
    if found:
        for sheet in _elements(document, found[-1]):
            yield from _cells(document, sheet)


def _skip(text: str, at: int) -> int:
    found = _WHITESPACE.match(text, at)
    return found.end() if found is not None else at


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """Key and offset of the value of each member of the object that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        yield key, at
        at = _skip(text, _value_end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[int]:
    """Offset of each element of the array that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _skip(text, _value_end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)


def _integer(digits: str) -> int | float:
    """A number of the document; one with too many digits for Python's `int` is accepted."""
    return int(digits) if len(digits) < 20 else float(digits)


_DECODER = json.JSONDecoder(parse_int=_integer)


def _value_end(text: str, at: int) -> int:
    end: int = _DECODER.raw_decode(text, at)[1]
    return end


def _encoded_source(document: str, place: _SourceField, source: str) -> str:
    """The JSON value for a new source in the form of the old value: text or list of lines, its indentation, its escapes."""
    old = document[place.start : place.end]
    ascii_only = document.isascii()
    if not place.is_list:
        return json.dumps(source, ensure_ascii=ascii_only)
    literals: dict[str, str] = {}
    opening, between, closing = "", "", ""
    previous_end = None
    for start in _elements(document, place.start):
        line, end = _DECODER.raw_decode(document, start)
        literals[line] = document[start:end]
        if previous_end is None:
            opening = document[place.start + 1 : start]
        else:
            between = document[previous_end:start]
        previous_end = end
    if previous_end is not None:
        closing = document[previous_end : place.end - 1]
    else:
        opening, closing = _list_layout(document, place.start)
    if not between:
        between = "," + (opening or " ")
    lines = source.splitlines(keepends=True) if "\r" in source else re.findall(r"[^\n]*\n|[^\n]+", source)
    if not lines:
        return old if not literals else "[]"
    encoded = [literals.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    return "[" + opening + between.join(encoded) + closing + "]"


def _list_layout(document: str, start: int) -> tuple[str, str]:
    """Indentation for a list that was empty: one step deeper than its own line, if the document is indented."""
    line_start = document.rfind("\n", 0, start) + 1
    if line_start == 0:
        return "", ""
    line = document[line_start:start]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return f"\n{indent} ", f"\n{indent}"
