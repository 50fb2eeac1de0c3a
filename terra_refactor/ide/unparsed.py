"""A text that does not parse, as while a statement is half typed: where the lines of the last text that did are in it.

Computes: how far lines have moved. Needs: a snapshot. Gives: `last_parsed`, `Parsed`. Hints and lenses of the last text stay at their
lines until the text parses again; those of changed lines are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.syntax.location import Span


@dataclass(frozen=True, slots=True)
class Parsed:
    """The last snapshot in which a file parsed."""

    snapshot: Snapshot
    first: int
    """The first line of it that is another one in the present text, from 1."""
    last: int
    """The last of these; below `first` if only lines were added."""
    lines: int
    """By how many lines all behind that have moved down."""

    def span(self, span: Span) -> Span | None:
        """The present place of a span; None if its lines have changed."""
        if span.end_line < self.first:
            return span
        return span.down(self.lines) if span.line > self.last else None


def last_parsed(snapshot: Snapshot, path: str) -> Parsed | None:
    """The last state of a file that does not parse; None if it parses, or never did."""
    known = snapshot.parsed.get(path)
    if known is None:
        return None
    old, new = (each.sources[path].text.split("\n") for each in (known, snapshot))
    most = min(len(old), len(new))
    same = 0
    while same < most and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < most - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Parsed(known, same + 1, len(old) - tail, len(new) - len(old))
