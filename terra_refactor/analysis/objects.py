"""Identities of abstract objects: allocation sites, distinguished by the calls that lead to them.

Computes: stable numbers for allocation sites. Needs: nothing. Gives: `ObjectTable`. An object created in a callee has
its own site as its name there; each call that returns it renames it (`derive`), so that two calls of one factory
return two objects and a callee's summary can be reused (heap cloning). Derivations beyond a depth collapse into one
object that represents several.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from terra_refactor.analysis.facts import ObjectFacts, ObjectKind
from terra_refactor.analysis.journal import Journal
from terra_refactor.analysis.log import Log
from terra_refactor.analysis.renumbering import Renumbering
from terra_refactor.domain.state import LevelNames
from terra_refactor.domain.value import ObjectId
from terra_refactor.ir.ids import FunctionId, OpId

MAX_DERIVATIONS = 4
"""Maximum number of calls through which an object is passed and still distinguished."""


class ObjectTable:
    """All abstract objects of one analysis, or of several successive runs that reuse summaries (`ordered_by_run`)."""

    def __init__(self, *, ordered_by_run: bool = False) -> None:
        self.journal = Journal()
        self.log: Log | None = None
        """Log of the context that is running, if summaries are kept."""
        self._seen: dict[ObjectId, int] | None = {} if ordered_by_run else None
        """For each object, when it was first used in this run; None if that is the order of the numbers."""
        self.facts: list[ObjectFacts] = []
        self._numbers: dict[Hashable, ObjectId] = {}
        self._depths: list[int] = []
        self._collapsed: set[ObjectId] = set()
        self._makers: dict[ObjectId, FunctionId] = {}
        """For each object created by the operations or calls of a function: that function."""
        self.level_names = LevelNames(self._shifted, self._further_out)
        """The callees' numbers for their arguments."""

    def begin(self) -> None:
        """Starts a new run, in which no object has been used yet."""
        self._seen = {}

    def kept(self) -> tuple[object, ...]:
        """The contents as plain data, for storage, in the order of the numbers."""
        names = self.level_names
        relative = (
            names.all,
            names.unshifted,
            names.closer,
            {function: sorted(own) for function, own in names.own.items()},
        )
        return self.facts, list(self._numbers), self._depths, self._collapsed, self._makers, relative

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Restores stored numbers."""
        self.facts, keys, self._depths, self._collapsed, self._makers, relative = kept
        self._numbers = {key: number for number, key in enumerate(keys)}
        names = self.level_names
        names.all, names.unshifted, names.closer, own = relative
        names.own = {function: set(numbers) for function, numbers in own.items()}

    def renumber(self, renumbering: Renumbering) -> None:
        """Updates the keys of objects to the new numbers of the operations that create them."""
        self._numbers = {renumbering.key(key, number): number for key, number in self._numbers.items()}
        for number, facts in enumerate(self.facts):
            if facts.function is not None and facts.op is not None:
                op = renumbering.op(facts.function, facts.op)
                if op != facts.op:
                    self.facts[number] = replace(facts, op=op)

    def see(self, number: ObjectId) -> None:
        """Registers the use of an object of an earlier run."""
        if self._seen is not None and number not in self._seen:
            self.journal.put(self._seen, number, len(self._seen))
        if self.log is not None and number not in self.log.told:
            self.log.told.add(number)
            self.log.events.append(number)

    def ordered(self, numbers: Iterable[ObjectId]) -> list[ObjectId]:
        """Objects in order of first use."""
        seen = self._seen
        return sorted(numbers) if seen is None else sorted(numbers, key=lambda number: seen.get(number, number + _LAST))

    def at_site(
        self,
        kind: ObjectKind,
        name: str,
        function: FunctionId,
        op: OpId | None,
        tag: Hashable = None,
        known_by: Hashable = None,
    ) -> ObjectId:
        """The object that operation `op` of `function` creates; `tag` distinguishes several created there (an iteration, a field).

        A class is `known_by` its body, not by the operation, so that code added before it does not rename it.
        """
        place = (function, op) if known_by is None else known_by
        number = self._intern(("site", kind, place, tag), kind, name, function, op, 0)
        if known_by is None:
            self._note_maker(function, number)
        return number

    def setting(self, name: str) -> ObjectId:
        """The object that holds a setting of a library; one per program."""
        return self._intern(("setting", name), ObjectKind.INSTANCE, name, None, None, 0)

    def derive(self, call: tuple[FunctionId, OpId, tuple[int, ...]], inner: ObjectId) -> ObjectId:
        """The caller's name, at the call `call`, of the callee's object `inner`."""
        facts, depth = self.facts[inner], self._depths[inner] + 1
        if depth > MAX_DERIVATIONS:
            key: Hashable = ("collapsed", facts.kind, facts.function, facts.op)
            number = self._intern(key, facts.kind, facts.name, facts.function, facts.op, MAX_DERIVATIONS)
            self._collapsed.add(number)
            return number
        number = self._intern(("call", call, inner), facts.kind, facts.name, facts.function, facts.op, depth)
        self._note_maker(call[0], number)
        return number

    def stands_for_several(self, number: ObjectId) -> bool:
        """Whether the name stands for all objects that were created at one place and passed through too many calls."""
        return number in self._collapsed

    def stand_in(self, position: int, actual: ObjectId, *, open_instance: bool) -> ObjectId:
        """The callee's name of the object at `position`: one name for all objects of that kind."""
        facts = self.facts[actual]
        key: Hashable = ("given", position, facts.kind, facts.name, open_instance)
        number = self._intern(key, facts.kind, facts.name, None, None, 0)
        self.level_names.all.add(number)
        return number

    def _shifted(self, number: ObjectId) -> ObjectId:
        facts = self.facts[number]
        return self._intern(("shifted", number), facts.kind, facts.name, None, None, 0)

    def older(self, recent: ObjectId) -> ObjectId:
        """The object that represents all earlier ones created at the site where `recent` is created again."""
        facts = self.facts[recent]
        key: Hashable = ("older", recent)
        number = self._intern(key, facts.kind, facts.name, facts.function, facts.op, self._depths[recent])
        maker = self._makers.get(recent)
        if maker is not None:
            self._note_maker(maker, number)
        return number

    def _further_out(self, number: ObjectId) -> ObjectId:
        facts = self.facts[number]
        key: Hashable = ("further out", number)
        return self._intern(key, facts.kind, facts.name, facts.function, facts.op, self._depths[number])

    def _note_maker(self, function: FunctionId, number: ObjectId) -> None:
        """Whether the name stands for a different object in each call of a function. False for classes."""
        if number not in self._makers and self.facts[number].kind not in (ObjectKind.CLASS, ObjectKind.MODULE):
            self._makers[number] = function
            self.level_names.own.setdefault(function, set()).add(number)

    def _intern(
        self, key: Hashable, kind: ObjectKind, name: str, function: FunctionId | None, op: OpId | None, depth: int
    ) -> ObjectId:
        number = self._numbers.get(key)
        if number is None:
            number = len(self.facts)
            self._numbers[key] = number
            self.facts.append(ObjectFacts(number, kind, name, function, op))
            self._depths.append(depth)
        elif self._seen is not None and number not in self._seen:
            known = self.facts[number]
            if known.name != name or known.op != op:  # an edit has changed or moved it since the last run
                self.facts[number] = ObjectFacts(number, kind, name, function, op)
        if self._seen is not None:
            self.see(number)
        return number


_LAST = 1 << 40
"""Sorts after every object used in a run."""
