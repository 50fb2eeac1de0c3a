"""Positions as the reader of a report sees them.

Computes: from a span of a module's text, the position in the file: for a notebook, whose module text consists of its
cells, the position in the JSON document and the cell; the path from the repository's root; columns in bytes. Needs:
the sources of a run. Gives: `Places`, `ReportPlace`. Ignores: files that were not analysed, whose positions are
unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A position in a notebook as the user sees it."""

    index: int
    """The position of the cell among all cells of the document, from 0."""
    line: int
    """In the cell, from 1."""
    column: int


@dataclass(frozen=True, slots=True)
class ReportPlace:
    """A range of a file on disk. Lines and columns count from 1, columns in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: CellPlace | None = None

    def __str__(self) -> str:
        if self.cell is not None:
            return f"{self.path}:cell {self.cell.index}:{self.cell.line}:{self.cell.column}"
        return f"{self.path}:{self.line}:{self.column}"

    @property
    def spoken(self) -> str:
        """The path and line, for a sentence."""
        if self.cell is not None:
            return f"{self.path}, cell {self.cell.index}, line {self.cell.line}"
        return f"{self.path}, line {self.line}"


class Places:
    """The positions of one run."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._lines: dict[str, list[str]] = {}

    def place(self, path: str, span: Span) -> ReportPlace:
        """The position in the file of a span of a module's text."""
        source = self._sources.get(path)
        if source is None or source.notebook is None:
            return ReportPlace(path, span.line, span.column, span.end_line, span.end_column)
        line, column = source.notebook.document_place(span.line, span.column)
        end_line, end_column = source.notebook.document_place(span.end_line, span.end_column)
        inside = source.notebook.cell_line(span.line)
        cell = None if inside is None else CellPlace(inside[0], inside[1], span.column)
        end_line, end_column = max((end_line, end_column), (line, column))
        return ReportPlace(path, line, column, end_line, end_column, cell)

    def at_line(self, path: str, line: int) -> ReportPlace:
        """The position in the file of a line of a module's text."""
        return self.place(path, Span(line, 1, line, 1))

    def line_text(self, path: str, line: int) -> str:
        """A line of the file on disk, without its line ending; empty if there is none."""
        if path not in self._lines:
            source = self._sources.get(path)
            text = "" if source is None else source.text if source.notebook is None else source.notebook.document
            self._lines[path] = split_lines(text)
        lines = self._lines[path]
        return lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else ""

    def byte_column(self, path: str, line: int, column: int) -> int:
        """The column counted in bytes of UTF-8, from 1."""
        return len(self.line_text(path, line)[: column - 1].encode("utf-8", "surrogatepass")) + 1


@cache
def repository_root(folder: str) -> str:
    """The nearest git repository at or above this folder; the folder itself if there is none."""
    place = Path(folder)
    return next((str(at) for at in (place, *place.parents) if (at / ".git").exists()), folder)


def path_in_repository(path: str) -> str:
    """The path from the repository's root, which forges expect; the path itself if it lies outside."""
    here = os.getcwd()
    relative = os.path.relpath(os.path.join(here, path), repository_root(here)).replace(os.sep, "/")
    return path if relative == ".." or relative.startswith("../") else relative


def path_as_uri(path: str) -> str:
    """A relative path as a relative reference of RFC 3986, an absolute one (or one above the root) as a `file:` URI."""
    relative = path_in_repository(path)
    if os.path.isabs(relative) or relative.startswith("../"):
        return Path(os.path.abspath(relative)).as_uri()
    return quote(relative, safe="/-._~")
