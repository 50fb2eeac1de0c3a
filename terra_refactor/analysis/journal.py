"""Changes that can be rolled back.

Computes: nothing. Gives: `Journal`, through which tables are changed in steps that may fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Key = TypeVar("_Key")
_Inner = TypeVar("_Inner")
_Value = TypeVar("_Value")


class Journal:
    """Applies changes to tables, and can roll them back while a step is open."""

    __slots__ = ("_undo",)

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] | None = None

    def open(self) -> int:
        """Starts a step: changes from now on can be rolled back to the returned mark. Steps can be nested."""
        if self._undo is None:
            self._undo = []
            return 0
        # a mark after those of the outer steps, at least 1, so that only the outermost step ends recording
        self._undo.append(_nothing)
        return len(self._undo)

    def close(self, place: int, *, keep: bool) -> None:
        """Ends the step: commits, or rolls back all recorded changes. A rollback also restores the order of the tables."""
        assert self._undo is not None
        if not keep:
            while len(self._undo) > place:
                self._undo.pop()()
        if place == 0:
            self._undo = None

    def done(self, undo: Callable[[], object]) -> None:
        """Records how to roll back a change."""
        if self._undo is not None:
            self._undo.append(undo)

    def put(self, table: dict[_Key, _Value], key: _Key, value: _Value) -> None:
        """`table[key] = value`."""
        if self._undo is not None:
            if key in table:
                before = table[key]
                self._undo.append(lambda: table.__setitem__(key, before))
            else:
                self._undo.append(lambda: table.__delitem__(key))
        table[key] = value

    def put_inside(self, tables: dict[_Key, dict[_Inner, _Value]], key: _Key, inner: _Inner, value: _Value) -> None:
        """`tables[key][inner] = value`, in a new table if there is none."""
        table = tables.get(key)
        if table is None:
            table = {}
            self.put(tables, key, table)
        self.put(table, inner, value)


def _nothing() -> None:
    """An entry that rolls back nothing."""
