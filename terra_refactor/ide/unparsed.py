"""Texts that do not parse, for example while a statement is being typed: maps lines of the last text that did parse to
the present one.

Computes: the distance by which lines have moved. Needs: a snapshot. Gives: `last_parsed`, `Parsed`. Hints and lenses
of the last parsed text stay at their lines until the text parses again; those of changed lines are left out.
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
    """Its first line that differs in the present text, from 1."""
    last: int
    """The last of these; below `first` if lines were only added."""
    lines: int
    """The number of lines by which everything after that has moved down."""

    def span(self, span: Span) -> Span | None:
        """The present position of a span; None if its lines have changed."""
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
