"""Sharing of equal parts of summaries.

Computes: nothing: shared parts are equal to the original ones. Needs: a new summary. Gives: `Sharing`.

The contexts of one function are similar: in all of them, most operations have the same values, read the same fields and call the same
functions. So a new summary shares equal parts with the one created before it; parts that are equal in the contexts of different functions
(keys of the heap, sets of objects, reached contexts) are shared by tables. This halves the memory at the end of an analysis, and speeds
up comparisons, because identical objects are equal.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar

from terra_refactor.analysis.frames import CallRecord, RecordedCall, Summary
from terra_refactor.domain.state import HeapKey
from terra_refactor.ir.ids import FunctionId, OpId

_Key = TypeVar("_Key")
_Part = TypeVar("_Part")
_Element = TypeVar("_Element", bound="Hashable")


class Sharing:
    """The tables of one analysis. They contain no information about the program, so a run that reuses summaries does not depend on
    them."""

    __slots__ = ("_before", "_calls", "_keys", "_sets")

    def __init__(self) -> None:
        self._before: dict[FunctionId, Summary] = {}
        """The last summary of each function."""
        self._keys: dict[HeapKey, HeapKey] = {}
        self._sets: dict[frozenset[object], frozenset[object]] = {}
        self._calls: dict[RecordedCall, RecordedCall] = {}

    def shared_set(self, elements: frozenset[_Element]) -> frozenset[_Element]:
        """The first seen of all equal sets."""
        known: frozenset[_Element] = self._sets.setdefault(elements, elements)  # type: ignore[assignment]
        return known

    def absent(self, keys: Iterable[HeapKey]) -> frozenset[HeapKey]:
        """A set of keys."""
        keep = self._keys.setdefault
        return self.shared_set(frozenset([keep(key, key) for key in keys]))

    def calls(self, records: Mapping[OpId, CallRecord]) -> dict[OpId, RecordedCall]:
        """The callees of each operation of a finished context."""
        keep = self._calls.setdefault
        return {op: keep(call, call) for op, record in records.items() for call in (record.finished(),)}

    def share(self, summary: Summary) -> None:
        """Replaces the parts of a new summary that are equal to parts of earlier ones."""
        summary.allocated = self.shared_set(summary.allocated)
        summary.stale_reads = self.shared_set(summary.stale_reads)
        before = self._before.get(summary.function.id)
        self._before[summary.function.id] = summary
        summary.reads = self._keyed(summary.reads)
        summary.writes = self._keyed(summary.writes)
        summary.state_reads = self._keyed(summary.state_reads)
        if before is None:
            return
        summary.reads = _like(summary.reads, before.reads)
        summary.writes = _like(summary.writes, before.writes)
        summary.state_reads = _like(summary.state_reads, before.state_reads)
        summary.holders = _like(summary.holders, before.holders)
        summary.arrivals = _like(summary.arrivals, before.arrivals)
        summary.calls = _like(summary.calls, before.calls)
        summary.branches = _like(summary.branches, before.branches)
        summary.failures = _like(summary.failures, before.failures)
        summary.guarded_failures = _like(summary.guarded_failures, before.guarded_failures)
        summary.effects = _alike(summary.effects, before.effects)
        summary.values = _alike(summary.values, before.values)
        if summary.contents == before.contents:
            summary.contents = before.contents

    def _keyed(self, fields: Mapping[HeapKey, _Part]) -> Mapping[HeapKey, _Part]:
        if not fields:
            return _NOTHING
        keep = self._keys.setdefault
        return {keep(key, key): part for key, part in fields.items()}


_NOTHING: Final[Mapping[Any, Any]] = {}


def _like(new: Mapping[_Key, _Part], old: Mapping[_Key, _Part]) -> Mapping[_Key, _Part]:
    """The mapping, with values of the old one where they are equal; the old mapping itself if it has the same items in
    the same order.
    """
    if not new:
        return _NOTHING
    if not old:
        return new
    result: dict[_Key, _Part] = {}
    same = len(new) == len(old)
    for key, part in new.items():
        known = old.get(key, part)
        if known is part:
            result[key] = part
        elif type(known) is type(part) and known == part:
            result[key] = known
        else:
            same = False
            result[key] = part
    return old if same and list(result) == list(old) else result


def _alike(new: tuple[_Part, ...], old: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """The tuple, with elements of the old one where they are equal at the same position; the old tuple itself if it is equal."""
    if not new or not old:
        return new
    parts = [
        known if known is part or (type(known) is type(part) and known == part) else part
        for part, known in zip(new, old, strict=False)
    ]
    if len(new) == len(old) and all(map(operator.is_, parts, old)):
        return old
    return (*parts, *new[len(parts) :])
