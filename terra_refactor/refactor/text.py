"""One module's text and tree, with the offsets of its nodes and lines.

Computes: nothing; provides the data of `syntax` in the form that edits need. Needs: a `Source` that parses. Gives: `ModuleText`.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.positions import measure_spans
from terra_refactor.syntax.source import Source


class ModuleText:
    """A module's text and tree. Raises SourceError if the source does not parse."""

    __slots__ = ("_newline", "_spans", "text", "tree")

    def __init__(self, source: Source) -> None:
        parsed = parse_module(source)
        self.text = source.text
        self._newline = source.newline
        self.tree: cst.Module = parsed.module
        self._spans = measure_spans(parsed)

    def offsets(self, node: cst.CSTNode) -> tuple[int, int]:
        """Offsets of the first character of a node and of the end (exclusive)."""
        return self._spans.offsets(node)

    def source_of(self, node: cst.CSTNode) -> str:
        """The text of a node as written, without enclosing parentheses."""
        start, end = self.offsets(node)
        return self.text[start:end]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both from 1. ValueError if there is no such line."""
        return self._spans.lines.offset(line, column)

    def newline_at(self, offset: int) -> str:
        """The line ending at an offset: that of its line, or (for the last line) that of the text."""
        end = self.line_end(offset)
        for newline in ("\r\n", "\n", "\r"):
            if self.text.endswith(newline, offset, end):
                return newline
        return self._newline

    def line(self, offset: int) -> int:
        """The line, from 1, of an offset."""
        return self._spans.lines.place(offset)[0]

    def line_start(self, offset: int) -> int:
        """Offset of the beginning of the line that contains `offset`."""
        return self._spans.lines.offset(self.line(offset), 1)

    def line_end(self, offset: int) -> int:
        """Offset of the end (exclusive) of the line that contains `offset`, including its line ending."""
        lines = self._spans.lines
        line = self.line(offset)
        return lines.offset(line + 1, 1) if line < len(lines) else len(self.text)
