"""Renumbers operations after an edit, so that kept results refer to the new numbers.

Computes: the operations of an edited function that correspond to earlier ones, and summaries and keys of objects with the new numbers.
Needs: both forms of the function. Gives: `moved_operations`, `Renumbering`.

A caller's summary refers to operations of its callees: the place of an effect, the creator of an object. An edit
shifts all operations after it, which alone would invalidate the callers. A wrong match costs time, never correctness:
an edited function is run again, and its callers are kept only if its result is the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, replace
from difflib import SequenceMatcher
from typing import Final, TypeAlias, TypeGuard

from terra_refactor.analysis.frames import Summary
from terra_refactor.domain.effect import EffectSite
from terra_refactor.domain.value import ObjectId
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import walk

_MANY: Final = 400
"""In longer changed parts, only the operations at the ends are matched."""

_GONE: Final = -1
"""The number of removed operations."""

Moves: TypeAlias = "Mapping[OpId, OpId | None]"
"""The new number of each renumbered operation; None if it was removed."""
_NO_MOVES: Final[Moves] = {}
_NONE: Final[Mapping[int, Moves]] = {}


def moved_operations(before: Function, now: Function) -> Moves:
    """Renumbered and removed operations of a function."""
    old, new = [_form(op) for op in walk(before.body)], [_form(op) for op in walk(now.body)]
    first = 0
    shortest = min(len(old), len(new))
    while first < shortest and old[first] == new[first]:
        first += 1
    last = 0
    while last < shortest - first and old[-1 - last] == new[-1 - last]:
        last += 1
    moves: dict[OpId, OpId | None] = dict.fromkeys(range(first, len(old) - last))
    moves.update((len(old) - place, len(new) - place) for place in range(1, last + 1) if len(old) != len(new))
    inner_old, inner_new = old[first : len(old) - last], new[first : len(new) - last]
    if len(inner_old) + len(inner_new) <= _MANY:
        for match in SequenceMatcher(None, inner_old, inner_new, autojunk=False).get_matching_blocks():
            for place in range(match.size):
                moves[first + match.a + place] = first + match.b + place
    return {op: moved for op, moved in moves.items() if op != moved}


def _form(op: Op) -> Hashable:
    """An operation without the numbers of other operations."""
    said = [getattr(op, field.name) for field in fields(op)]
    return type(op), tuple(
        repr(value) for value in said if not isinstance(value, int | tuple) or isinstance(value, bool)
    )


def _places(summary: Summary) -> Iterator[EffectSite]:
    """All places in a summary, with repetitions."""
    for effect in summary.effects:
        yield effect.site
        yield from effect.via
    for site, via in summary.state_reads.values():
        yield site
        yield from via
    for site, _, _ in (*summary.stale_reads, *summary.rewritten_reads):
        yield site


class Renumbering:
    """Translates results from before an edit to the new numbers of operations."""

    def __init__(self, moves: Mapping[FunctionId, Moves]) -> None:
        self._moves: dict[str, dict[int, Moves]] = {}
        """The moves of operations, by module and index of the function."""
        for function, found in moves.items():
            if found:
                self._moves.setdefault(function.module, {})[function.index] = found
        self._sites: dict[EffectSite, EffectSite] = {}

    def __bool__(self) -> bool:
        return bool(self._moves)

    def op(self, function: FunctionId, op: OpId) -> OpId | None:
        """The new number of an operation; None if it was removed."""
        return self._moves.get(function.module, _NONE).get(function.index, _NO_MOVES).get(op, op)

    def summary(self, summary: Summary) -> Summary:
        """The summary with the new numbers; the same object if it refers to no renumbered operation."""
        if not any(map(self._has_moved, _places(summary))):
            return summary
        return replace(
            summary,
            effects=tuple(
                replace(effect, site=self._site(effect.site), via=self._way(effect.via))
                if self._has_moved(effect.site) or any(map(self._has_moved, effect.via))
                else effect
                for effect in summary.effects
            ),
            state_reads={key: (self._site(site), self._way(via)) for key, (site, via) in summary.state_reads.items()},
            stale_reads=frozenset((self._site(site), name, way) for site, name, way in summary.stale_reads),
            rewritten_reads=frozenset((self._site(site), name, way) for site, name, way in summary.rewritten_reads),
        )

    def key(self, key: Hashable, number: ObjectId) -> Hashable:
        """The key of an object, by which an operation finds it again; its own number if no operation creates it any more."""
        found: Hashable
        match key:
            case ("call", (function, int(op), iteration), inner) if self._is_edited(function):
                moved = self.op(function, op)
                found = ("call", (function, moved, iteration), inner)
            case ("site", kind, (function, int(op)), tag) if self._is_edited(function):
                moved = self.op(function, op)
                found = ("site", kind, (function, moved), tag)
            case ("collapsed", kind, FunctionId() as function, int(op)) if self._is_edited(function):
                moved = self.op(function, op)
                found = ("collapsed", kind, function, moved)
            case _:
                return key
        return ("gone", number) if moved is None else found

    def _is_edited(self, function: object) -> TypeGuard[FunctionId]:
        """Whether operations of a function were renumbered."""
        if type(function) is not FunctionId:
            return False
        functions = self._moves.get(function.module)
        return functions is not None and function.index in functions

    def _has_moved(self, site: EffectSite) -> bool:
        functions = self._moves.get(site.module)
        if functions is None:
            return False
        moves = functions.get(site.function)
        return moves is not None and site.op in moves

    def _site(self, site: EffectSite) -> EffectSite:
        if not self._has_moved(site):
            return site
        found = self._sites.get(site)
        if found is None:
            op = self._moves[site.module][site.function][site.op]
            found = self._sites[site] = replace(site, op=_GONE if op is None else op)
        return found

    def _way(self, via: tuple[EffectSite, ...]) -> tuple[EffectSite, ...]:
        return tuple(map(self._site, via))
