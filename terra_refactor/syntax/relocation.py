"""Maps positions between two texts of one module that differ only in comments, docstrings and layout.

Computes: whether Python reads both texts as the same statements, and the position in the new text of each position of
the old one. Needs: both texts. Gives: `Relocation`, `relocation`.

Python's grammar is one over tokens, so texts with equal tokens are equal programs. The comparison ignores the text
between tokens (comments, blanks, line ends inside brackets, the width of an indentation), and a string that is a
statement (a docstring), unless it is the last statement of its block.
"""

from __future__ import annotations

import io
import tokenize
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, TypeAlias

from terra_refactor.syntax.location import Span

Place: TypeAlias = "tuple[int, int]"
"""Line and column, both from 1, as in `Span`."""
_LAYOUT: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})
_WITHOUT_TEXT: Final = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
"""Tokens whose text does not matter: the width of an indentation, the kind of a line ending."""
_FUNCTIONS: Final = frozenset({"def", "lambda"})
_BLOCK_ENDS: Final = frozenset({tokenize.DEDENT, tokenize.ENDMARKER})
_STATEMENT_ENDS: Final = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


class RelocationError(Exception):
    """A position of the old text is not at a token, so it has no counterpart in the new text."""


class _Tokens:
    """The significant tokens of a text, and the start and end of those with a text."""

    def __init__(self, text: str) -> None:
        self.words: list[tuple[int, str]] = []
        self.texts: list[str] = []
        self.starts: list[Place] = []
        self.ends: list[Place] = []
        statement: list[tokenize.TokenInfo] = []
        held: list[tokenize.TokenInfo] = []
        for each in tokenize.generate_tokens(io.StringIO(text).readline):
            if each.type in _LAYOUT:
                continue
            if each.type == tokenize.ERRORTOKEN or _is_cut_short(each):
                raise tokenize.TokenError("not Python as this interpreter knows it", each.start)
            statement.append(each)
            if each.type not in _STATEMENT_ENDS and each.type != tokenize.ENDMARKER:
                continue
            if len(statement) == 1 and each.type in _BLOCK_ENDS:
                # This string ends the block, so it determines where the enclosing function ends.
                self._add(held)
            held = []
            if _is_text(statement[:-1]):
                held = statement
            else:
                self._add(statement)
            statement = []

    def _add(self, statement: Sequence[tokenize.TokenInfo]) -> None:
        for each in statement:
            if each.type in _WITHOUT_TEXT:
                self.words.append((each.type, ""))
            else:
                self.words.append((each.type, each.string))
                self.texts.append(each.string)
                self.starts.append((each.start[0], each.start[1] + 1))
                self.ends.append((each.end[0], each.end[1] + 1))


def _is_text(tokens: Sequence[tokenize.TokenInfo]) -> bool:
    """Whether this is a plain string or bytes literal (not an f-string)."""
    if not tokens or any(each.type != tokenize.STRING for each in tokens):
        return False
    prefixes = [_prefix(each.string) for each in tokens]
    return not any("f" in each for each in prefixes) and len({"b" in each for each in prefixes}) == 1


def _is_cut_short(each: tokenize.TokenInfo) -> bool:
    """Whether this may be part of an f-string that contains its own quotes, which Python before 3.12 splits into
    several tokens.
    """
    text = each.string
    return each.type == tokenize.STRING and "f" in _prefix(text) and text.count("{") != text.count("}")


def _prefix(text: str) -> str:
    return text[: min(text.find(quote) for quote in "'\"" if quote in text)].lower()


class Relocation:
    """Maps positions of an old text to a new one with the same tokens."""

    def __init__(self, old: _Tokens, new: _Tokens) -> None:
        self._old = old
        self._new = new
        self._first_lines = array("I", (line for line, _ in old.starts))
        self._last_lines = array("I", (line for line, _ in old.ends))

    def span(self, span: Span) -> Span:
        """The span in the new text; an empty span at the first column stands for its line."""
        if (span.column, span.end_line, span.end_column) == (1, span.line, 1):
            line = self.line(span.line)
            return Span(line, 1, line, 1)
        start = self._start((span.line, span.column))
        end = self._end((span.end_line, span.end_column))
        return Span(*start, *end)

    def line(self, line: int) -> int:
        """The new line of everything that began on a line, or, if that is ambiguous, of the only function that began
        there.

        Raises RelocationError if there is none.
        """
        first, last = bisect_left(self._first_lines, line), bisect_right(self._first_lines, line)
        lines = {place[0] for place in self._new.starts[first:last]}
        functions = [index for index in range(first, last) if self._old.texts[index] in _FUNCTIONS]
        if len(lines) > 1 and len(functions) == 1:
            return self._new.starts[functions[0]][0]
        return _only(lines, line)

    def end_line(self, line: int) -> int:
        """The new line on which everything ends that ended on a line. Raises RelocationError if there is more than one."""
        return _only({place[0] for place in self._ends_on(line)}, line)

    def statement_end(self, line: int) -> int:
        """The new line of the end of the statement that ended with a line. Raises RelocationError if no statement did."""
        return _only({place[0] for place in self._ends_on(line)[-1:]}, line)

    def _ends_on(self, line: int) -> list[Place]:
        first, last = bisect_left(self._last_lines, line), bisect_right(self._last_lines, line)
        return self._new.ends[first:last]

    def _start(self, place: Place) -> Place:
        index = bisect_right(self._old.starts, place) - 1
        if index < 0 or place >= self._old.ends[index]:
            raise RelocationError(f"no token begins at {place} or holds it")
        return self._inside(index, place)

    def _end(self, place: Place) -> Place:
        index = bisect_left(self._old.starts, place) - 1
        if index < 0 or place > self._old.ends[index]:
            raise RelocationError(f"no token ends at {place} or holds it")
        if place == self._old.ends[index]:
            return self._new.ends[index]
        return self._inside(index, place)

    def _inside(self, index: int, place: Place) -> Place:
        (old_line, old_column), (line, column) = self._old.starts[index], self._new.starts[index]
        down = place[0] - old_line
        return line + down, place[1] if down else column + place[1] - old_column


def _only(lines: set[int], line: int) -> int:
    if len(lines) != 1:
        raise RelocationError(f"what is on line {line} is on {len(lines)} lines")
    return lines.pop()


def relocation(old: str, new: str) -> Relocation | None:
    """The mapping from the places of a text to those of another; None if the texts differ in more than comments, docstrings and layout.

    None also if Python's own tokens are not available: for a text that does not parse, or with carriage returns as
    line endings.
    """
    if any("\r" in text.replace("\r\n", "") for text in (old, new)):
        return None
    try:
        before, after = _Tokens(old), _Tokens(new)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return Relocation(before, after) if before.words == after.words else None
