"""The part of the full analysis before an edit that a first answer reuses: that of unchanged functions.

Computes: the functions of a file that are the same as in `Snapshot.before`, and the number of lines by which each has
moved. Needs: a snapshot. Gives: `unchanged_functions`, `Unchanged`. Evidence from callers in other files is shown
until all of them are analysed again, which avoids flicker while the user types elsewhere in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.syntax.location import Span


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The unchanged functions of one file."""

    before: Snapshot
    path: str
    moved: Mapping[FunctionId, int]
    """The number of lines by which each has moved down."""

    def lines(self, snapshot: Snapshot, line: int, column: int) -> int | None:
        """The number of lines by which the code at a position of this snapshot, or of `before`, has moved down; None if
        it has changed.
        """
        function = next(snapshot.functions_at(self.path, line, column), None)
        return None if function is None else self.moved.get(function.id)

    def span(self, span: Span) -> Span | None:
        """The present position of a span of `before`; None if the code there has changed."""
        lines = self.lines(self.before, span.line, span.column)
        return None if lines is None else span.down(lines)


def unchanged_functions(snapshot: Snapshot, path: str) -> Unchanged | None:
    """The reusable part of the analysis before a first answer; None for other snapshots."""
    before = snapshot.before
    if before is None or path not in before.module_names:
        return None
    old = {function.id: function for function in before.functions(path)}
    moved = {
        function.id: function.def_line - old[function.id].def_line
        for function in snapshot.functions(path)
        if function.id in old and _is_same(old[function.id], function)
    }
    return Unchanged(before, path, moved)


def _is_same(old: Function, now: Function) -> bool:
    """Whether a function differs only in its position, and moved as a whole by the same number of lines."""
    if now.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY) or not old.looks_the_same_as(now):
        return False
    lines = now.def_line - old.def_line
    if now.span != old.span.down(lines):
        return False
    return old.body is now.body or (old.body == now.body and now.spans == old.spans.down(lines))
