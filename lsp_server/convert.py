"""Between places of the core and positions of the protocol.

The core counts lines and columns from 1, in characters; the protocol counts from 0, columns in UTF-16 code units unless another unit
was agreed on (`general.positionEncodings`). A line ends at `\\n`, `\\r\\n` or `\\r` in both. Positions out of bounds are moved to the
nearest place that exists: clients send such while a text changes.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span

ENCODINGS = (
    types.PositionEncodingKind.Utf32,
    types.PositionEncodingKind.Utf8,
    types.PositionEncodingKind.Utf16,
)
"""The supported encodings, the cheapest first."""


class TextPositions:
    """Positions in one text."""

    __slots__ = ("_encoding", "_lines", "text")

    def __init__(self, text: str, encoding: types.PositionEncodingKind | str) -> None:
        self.text = text
        self._encoding = types.PositionEncodingKind(encoding)
        self._lines = LineIndex(text)

    @property
    def line_count(self) -> int:
        """Number of lines; the text after the last line ending is one."""
        return len(self._lines)

    def line(self, number: int) -> str:
        """A line (from 1), without its ending."""
        start = self._lines.offset(number, 1)
        end = self._lines.offset(number + 1, 1) if number < len(self._lines) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def offset(self, position: types.Position) -> int:
        """The offset of a position, clamped to the text."""
        if position.line < 0:
            return 0
        if position.line >= len(self._lines):
            return len(self.text)
        line = self.line(position.line + 1)
        return self._lines.offset(position.line + 1, 1) + self._characters(line, position.character)

    def place(self, position: types.Position) -> tuple[int, int]:
        """Line and column, from 1, of a position, clamped to the text."""
        return self._lines.place(self.offset(position))

    def position(self, line: int, column: int) -> types.Position:
        """The position of a line and column, both counted from 1."""
        if line > len(self._lines):
            line, column = len(self._lines), len(self.line(len(self._lines))) + 1
        text = self.line(line)
        return types.Position(line - 1, self._units(text[: max(0, column - 1)]))

    def position_at(self, offset: int) -> types.Position:
        """The position of an offset."""
        return self.position(*self._lines.place(min(max(offset, 0), len(self.text))))

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def text_edit(self, edit: Edit) -> types.TextEdit:
        """An edit of the core as one of the protocol."""
        return types.TextEdit(types.Range(self.position_at(edit.start), self.position_at(edit.end)), edit.replacement)

    def _characters(self, line: str, units: int) -> int:
        if units <= 0:
            return 0
        if self._encoding == types.PositionEncodingKind.Utf32 or line.isascii():
            return min(units, len(line))
        width = 0
        for number, character in enumerate(line):
            width += self._width(character)
            if width > units:
                return number  # inside a character: before it
        return len(line)

    def _units(self, text: str) -> int:
        if self._encoding == types.PositionEncodingKind.Utf32 or text.isascii():
            return len(text)
        return sum(map(self._width, text))

    def _width(self, character: str) -> int:
        code = ord(character)
        match self._encoding:
            case types.PositionEncodingKind.Utf8:
                return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
            case types.PositionEncodingKind.Utf16:
                return 2 if code > 0xFFFF else 1
            case _:
                return 1


def agreed_encoding(capabilities: types.ClientCapabilities) -> types.PositionEncodingKind:
    """The unit of columns: the cheapest that the client offers, UTF-16 if it offers none."""
    offered = (capabilities.general.position_encodings if capabilities.general is not None else None) or ()
    return next((kind for kind in ENCODINGS if kind in offered), types.PositionEncodingKind.Utf16)


def range_as_json(where: types.Range) -> dict[str, Any]:
    """A range in the protocol's JSON form, for the results of commands."""
    start, end = ({"line": at.line, "character": at.character} for at in (where.start, where.end))
    return {"start": start, "end": end}
