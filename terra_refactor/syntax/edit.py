"""Changes to a text.

Computes: the text after a set of edits, and the unified diff between two texts. Needs: offsets into the text
(`positions.SpanTable.offsets`). Gives: `Edit`, `apply_edits`, `unified_diff`. Ignores: files, which
`refactor/apply.py` writes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_NO_NEWLINE = "\\ No newline at end of file"


class OverlappingEditsError(ValueError):
    """Two edits claim the same text, or insert at one place in an unspecified order."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `text[start:end]`.

    Attributes:
        start: offset of the first character that is replaced.
        end: offset just after the last one; equal to `start` for an insertion.
        replacement: the new text, with the line endings of the file.
    """

    start: int
    end: int
    replacement: str

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"an edit from {self.start} to {self.end} is none")

    def overlaps(self, other: Edit) -> bool:
        """Whether the edits share a character, one inserts inside the other's range, or both insert at the same offset."""
        if self.start == self.end or other.start == other.end:
            if self.start == self.end and other.start == other.end:
                return self.start == other.start
            point, edit = (self.start, other) if self.start == self.end else (other.start, self)
            return edit.start < point < edit.end
        return self.start < other.end and other.start < self.end


def check_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits sorted by position, without duplicates.

    Raises:
        OverlappingEditsError: two different edits overlap.
    """
    ordered = sorted(set(edits))
    reach: Edit | None = None  # the edit with the furthest end so far
    for edit in ordered:
        if reach is not None and edit.overlaps(reach):
            raise OverlappingEditsError(f"edits overlap: {reach!r} and {edit!r}")
        if reach is None or edit.end >= reach.end:
            reach = edit
    return tuple(ordered)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, whose offsets are those of the text before any of them.

    Raises:
        OverlappingEditsError: two different edits overlap.
        ValueError: an edit reaches beyond the text.
    """
    parts: list[str] = []
    at = 0
    for edit in check_edits(edits):
        if edit.end > len(text):
            raise ValueError(f"{edit!r} reaches beyond the text, which ends at {len(text)}")
        parts.append(text[at : edit.start])
        parts.append(edit.replacement)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


def minimal_edits(before: str, after: str) -> tuple[Edit, ...]:
    """The edits, by whole lines, that lead from one text to the other."""
    old, new = split_lines(before), split_lines(after)
    offsets = [0]
    for line in old:
        offsets.append(offsets[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(offsets[i1], offsets[i2], "".join(new[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings. Unlike `str.splitlines`, only `\\n`, `\\r\\n` and `\\r` end a line."""
    if "\r" in text:
        return _LINE.findall(text)
    lines = [f"{line}\n" for line in text.split("\n")]  # ten times as fast as the general case
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def unified_diff(path: str, before: str, after: str, context: int = 3) -> str:
    """The unified diff between two texts of one file, as `patch` and `git apply` read it; empty if they are equal.

    The lines keep their own endings (a CRLF stays one), and a missing final newline is marked as these tools do.
    """
    if before == after:
        return ""
    old, new = _patch_lines(before), _patch_lines(after)
    parts: list[str] = []
    for number, line in enumerate(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=context, lineterm="\n")):
        parts.append(line)
        if number >= 2 and not line.endswith("\n"):
            parts.append(f"\n{_NO_NEWLINE}\n")
    return "".join(parts)


def _patch_lines(text: str) -> list[str]:
    """The lines as `patch` counts them: only `\\n` ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
