"""Places in a source text.

Computes: nothing. Gives: `Span`, the representation of a source range in every later room, the report and the editor;
`Spans`. Ignores: the file, which the owner of the span knows, and UTF-16, to which the language server converts.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of text of one module.

    Ordered by start, then by end, so that sorted spans read from the top of the file.

    Attributes:
        line: line of the first character, counted from 1.
        column: column of the first character, counted from 1, in characters (code points).
        end_line: line of the end, counted from 1.
        end_column: column just after the last character, counted from 1.
    """

    line: int
    column: int
    end_line: int
    end_column: int

    def contains(self, line: int, column: int) -> bool:
        """Whether the character at this position lies inside; the end is exclusive."""
        return (self.line, self.column) <= (line, column) < (self.end_line, self.end_column)

    def encloses(self, other: Span) -> bool:
        """Whether the other span lies within this one; equal spans enclose each other."""
        return (self.line, self.column) <= (other.line, other.column) and (other.end_line, other.end_column) <= (
            self.end_line,
            self.end_column,
        )

    def down(self, lines: int) -> Span:
        """The span moved down by `lines` lines."""
        return Span(self.line + lines, self.column, self.end_line + lines, self.end_column)

    def __str__(self) -> str:
        return f"{self.line}:{self.column}-{self.end_line}:{self.end_column}"


class Spans(Sequence[Span]):
    """Spans as plain numbers, which take an eighth of the memory of objects; each object is created on request.

    All can be moved down together.
    """

    __slots__ = ("_lines", "_numbers")

    def __init__(self, spans: Iterable[Span]) -> None:
        self._numbers = array(
            "I", [number for each in spans for number in (each.line, each.column, each.end_line, each.end_column)]
        )
        self._lines = 0

    def down(self, lines: int) -> Spans:
        """The spans moved by `lines` lines, which may be negative."""
        moved = Spans(())
        moved._numbers, moved._lines = self._numbers, self._lines + lines
        return moved

    def placed(self, place: Callable[[int, int], tuple[int, int]], first: int) -> Spans:
        """The spans with each line and column mapped by `place`; those that end above line `first` are unchanged."""
        numbers, lines = self._numbers[:], self._lines
        for at in range(0, len(numbers), 4):
            start, end = numbers[at] + lines, numbers[at + 2] + lines
            if end >= first:
                numbers[at], numbers[at + 1] = place(start, numbers[at + 1])
                numbers[at + 2], numbers[at + 3] = place(end, numbers[at + 3])
            elif lines:
                numbers[at], numbers[at + 2] = start, end
        placed = Spans(())
        placed._numbers = numbers
        return placed

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Span]: ...
    def __getitem__(self, index: int | slice) -> Span | Sequence[Span]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        first = 4 * range(len(self))[index]
        line, column, end_line, end_column = self._numbers[first : first + 4]
        return Span(line + self._lines, column, end_line + self._lines, end_column)

    def __len__(self) -> int:
        return len(self._numbers) // 4

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spans):
            return NotImplemented
        if self._lines == other._lines:
            return self._numbers == other._numbers
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
