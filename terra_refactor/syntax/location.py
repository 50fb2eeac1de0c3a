"""Places in a source text.

Computes: nothing. Gives: `Span`, the one form in which every later room, the report and the editor name a place.
Ignores: which file it is (the owner of the span says so) and UTF-16 (the language server converts).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of text between two places of one module.

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
        """Whether the character at this place lies inside; the place just after the last character does not."""
        return (self.line, self.column) <= (line, column) < (self.end_line, self.end_column)

    def encloses(self, other: Span) -> bool:
        """Whether the other span lies within this one; equal spans enclose each other."""
        return (self.line, self.column) <= (other.line, other.column) and (other.end_line, other.end_column) <= (
            self.end_line,
            self.end_column,
        )

    def __str__(self) -> str:
        return f"{self.line}:{self.column}-{self.end_line}:{self.end_column}"
