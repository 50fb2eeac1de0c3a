"""Lines and columns of the offsets of a text.

Computes: where lines start. Needs: the text. Gives: `LineIndex`, `line_count`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from terra_refactor.syntax.location import Span

_LINE_END = re.compile(r"\r\n?|\n")


def line_count(text: str) -> int:
    """Number of lines of a file with that text; a missing final newline is allowed."""
    return text.count("\n") + (not text.endswith("\n"))


class LineIndex:
    """Lines and columns of the offsets of one text. `\\n`, `\\r\\n` and `\\r` end a line."""

    __slots__ = ("_starts", "_text_length")

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._text_length = len(text)

    def __len__(self) -> int:
        """Number of lines; the text after the last line ending is one, even when empty."""
        return len(self._starts)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both counted from 1; a column beyond the text's end is the text's end.

        Raises:
            ValueError: there is no such line.
        """
        if not 1 <= line <= len(self._starts):
            raise ValueError(f"the text has no line {line}")
        return min(self._starts[line - 1] + column - 1, self._text_length)

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        line, column = self.place(start)
        end_line, end_column = self.place(end)
        return Span(line, column, end_line, end_column)
