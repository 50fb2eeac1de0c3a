"""Changes that can be taken back.

Computes: nothing. Gives: `Journal`, through which tables are changed of which a step may turn out not to have been right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Key = TypeVar("_Key")
_Inner = TypeVar("_Inner")
_Value = TypeVar("_Value")


class Journal:
    """Changes tables, and knows how to take the changes back while it is open."""

    __slots__ = ("_undo",)

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] | None = None

    def open(self) -> int:
        """From now on what is changed can be taken back, up to the place that is given. Such steps may be inside each other."""
        if self._undo is None:
            self._undo = []
            return 0
        # a place behind the steps of the outer one, which is at least 1 so that only the outermost ends it all
        self._undo.append(_nothing)
        return len(self._undo)

    def close(self, place: int, *, keep: bool) -> None:
        """Ends that, and takes back what was changed unless it is to be kept. The order of the tables is as before then."""
        assert self._undo is not None
        if not keep:
            while len(self._undo) > place:
                self._undo.pop()()
        if place == 0:
            self._undo = None

    def done(self, undo: Callable[[], object]) -> None:
        """Notes how a change that was made is taken back."""
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
    """Takes nothing back."""
