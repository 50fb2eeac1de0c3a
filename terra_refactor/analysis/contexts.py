"""The contexts in which functions were analysed: their summaries, looked up by arguments and state.

Computes: which contexts of one function are distinguished, and the joined arguments of those that are not. Needs: the
lowered program and the journal. Gives: `SummaryTable`, which the interpreter, `reuse` and `driver` share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Final

from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.journal import Journal
from terra_refactor.analysis.log import Closure, ContextKey
from terra_refactor.domain.lattice import widen
from terra_refactor.domain.state import Comparisons, HeapKey, Naming, SettledHeap, State, note_difference, same_reads
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import BOTTOM, ObjectId, UnknownValue, Value
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program

MAX_TOLD_APART: Final = 12
"""Maximum number of contexts per function; further ones are joined into one general context."""
MAX_CONTEXTS: Final = 96
"""Maximum total number of contexts of a function with many operations; the results of further calls are unknown."""
MAX_OPERATIONS: Final = 12_288
"""Maximum number of operations in all contexts of a smaller function: a property of a base class is called on objects of hundreds of
classes, and its contexts cost next to nothing."""
MAX_CONTEXTS_OF_ANY: Final = 1_000
"""Maximum number of contexts of the smallest function: they are searched one after the other."""

MOST_VIEWS: Final = 3
"""Factor by which contexts that differ only in open sizes may exceed that maximum."""


class SummaryTable:
    """Every summary of one analysis."""

    def __init__(self, program: Program, journal: Journal, next_identity: int) -> None:
        self._program = program
        self._journal = journal
        self.summaries: dict[int, Summary] = {}
        """By identity, in order of creation."""
        self.next_identity = next_identity
        self.dropped: dict[int, None] = {}
        """The invalidated summaries."""
        self.round = 0
        """Whether this is the driver's last round: contexts that it does not reach are not part of the facts."""
        self._by_key: dict[ContextKey, list[Summary]] = {}
        self._of: dict[FunctionId, list[Summary]] = {}
        self._of_closure: dict[tuple[FunctionId, Closure], list[Summary]] = {}
        """The contexts of one function object: for example, a decorator's wrapper is a separate function object for
        each wrapped function.
        """
        self._users: dict[int, list[int]] = {}
        """For each context, those that used its result."""
        self._general: dict[tuple[FunctionId, Closure, bool], dict[str, Value]] = {}

    # --- looking for one --------------------------------------------------------------------------------------------------------

    def find(self, key: ContextKey, state: State, naming: Naming | None) -> Summary | None:
        """The summary of that key whose reads hold in a state."""
        candidates = self._by_key.get(key, ())
        comparisons = Comparisons(state, naming) if candidates else None
        for summary in candidates:
            if same_reads(state, summary.reads, summary.absent, naming, summary.suspect, comparisons):
                self.touch(summary)
                return summary
        return None

    def note_differences(self, key: ContextKey, state: State, naming: Naming | None) -> bool:
        """Records, for each context of that key, its first read that differs in a state in which none was found; returns False if one
        differs in something else.
        """
        return all(note_difference(state, summary.reads, naming) for summary in self._by_key.get(key, ()))

    def has_another(self, key: ContextKey, summary: Summary) -> bool:
        """Whether there are other contexts with that key."""
        return any(other is not summary for other in self._by_key.get(key, ()))

    def known(self, key: ContextKey) -> tuple[int, ...]:
        """The contexts of that key, in any state: their identities, the latest first."""
        return tuple(summary.identity for summary in self._by_key.get(key, ()))

    def is_told_apart(self, key: ContextKey) -> bool:
        """Whether another context of the same function object would be kept apart, not joined with the others."""
        return self._is_below(key, MAX_TOLD_APART)

    def has_room(self, key: ContextKey) -> bool:
        """Whether another context of the same function object is analysed at all."""
        operations = max(1, self._program.function(key[0]).op_count)
        return self._is_below(key, max(MAX_CONTEXTS, min(MAX_OPERATIONS // operations, MAX_CONTEXTS_OF_ANY)))

    def _is_below(self, key: ContextKey, most: int) -> bool:
        """Whether there are fewer than `most` contexts of the same function object; those that are equal in eager code
        count once.
        """
        alike = self._alike(key)
        if len(alike) < most:
            return True
        return len(alike) < MOST_VIEWS * most and len({_seen_eagerly(summary) for summary in alike}) < most

    def joined(self, key: ContextKey, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """The arguments of a call that is joined with others of its function object: never more precise than the earlier ones."""
        identity, _, closure, in_graph = key
        kept: dict[str, Value] = {}
        if self._program.function(identity).kind is FunctionKind.METHOD and parameters:
            # the method's object is still known
            first = next(iter(parameters))
            kept[first] = parameters[first]
        place = (identity, closure, in_graph)
        general = self._general.get(place)
        if general is None:
            general = dict(parameters)
            for summary in self._alike(key):
                # arguments of eager calls are not joined with those of a graph
                if summary.in_graph == in_graph and summary.parameters.keys() == parameters.keys():
                    general = {name: widen(value, summary.parameters[name]) for name, value in general.items()}
        general = {name: widen(general.get(name, BOTTOM), value) for name, value in parameters.items()}
        self._journal.put(self._general, place, general)
        return {**general, **kept}

    def _alike(self, key: ContextKey) -> Sequence[Summary]:
        identity, _, closure, _ = key
        return self._of_closure.get((identity, closure), ())

    # --- entering them ----------------------------------------------------------------------------------------------------------

    def add(self, key: ContextKey, summary: Summary) -> None:
        """Adds a summary; one without an identity from an earlier run gets the next one. Can be rolled back."""
        if summary.identity < 0:
            summary.identity = self.next_identity
        self.next_identity += summary.identity == self.next_identity
        self._journal.put(self.summaries, summary.identity, summary)
        identity, _, closure, _ = key
        same_key = self._by_key.setdefault(key, [])
        same_function = self._of.setdefault(identity, [])
        same_closure = self._of_closure.setdefault((identity, closure), [])
        same_key.insert(0, summary)
        same_function.append(summary)
        same_closure.append(summary)

        def undo() -> None:
            del same_key[0], same_function[-1], same_closure[-1]

        self._journal.done(undo)
        for used in summary.used:
            self._note_use(summary, used)

    def use(self, user: Summary, used: int) -> None:
        """Records that the result of a finished context rests on another one. Can be rolled back."""
        user.used |= {used}
        self._note_use(user, used)

    def _note_use(self, user: Summary, used: int) -> None:
        users = self._users.setdefault(used, [])
        users.append(user.identity)
        self._journal.done(users.pop)

    def add_again(self, key: ContextKey, summary: Summary) -> None:
        """Adds a summary from an earlier run. Can be rolled back."""
        if summary.entry is EntryKind.MODULE:
            self.add_body_again(summary)
            return
        self._renew(summary)
        self.add(key, summary)

    def add_body(self, summary: Summary) -> None:
        """Adds the result of the body of a module or class, which is never looked up by arguments. Can be rolled back."""
        summary.identity = self.next_identity
        self.next_identity += 1
        self._journal.put(self.summaries, summary.identity, summary)

    def add_body_again(self, summary: Summary) -> None:
        """Adds the result of a module or class body from an earlier run. Can be rolled back."""
        self._renew(summary)
        self._journal.put(self.summaries, summary.identity, summary)

    def _renew(self, summary: Summary) -> None:
        summary.function = self._program.function(summary.function.id)
        summary.round = self.round

    # --- which of them count ----------------------------------------------------------------------------------------------------

    def touch(self, summary: Summary) -> None:
        """Marks a summary, its callees and the contexts that it enters as reached in this round."""
        before = summary.round
        if before == self.round:
            return
        summary.round = self.round
        self._journal.done(lambda: setattr(summary, "round", before))
        for record in summary.calls.values():
            for callee in record.callees:
                self.touch(self.summaries[callee])
        for nested in summary.entered:
            self.touch(self.summaries[nested])

    def is_reached(self, identity: FunctionId) -> bool:
        """Whether some context of the function was reached in this round; for a method, one that is called on a known object."""
        return any(summary.round == self.round and is_of_object(summary) for summary in self._of.get(identity, ()))

    def forget_entries(self, identity: FunctionId) -> None:
        """Drops the entry contexts of a function so far: it is about to be entered with more information."""
        for summary in self._of.get(identity, ()):
            if summary.entry in (EntryKind.UNCALLED, EntryKind.FRAMEWORK):
                summary.round = -1

    def forget_entry(self, identity: int) -> None:
        """Drops one entry context of a function, unless it is reached again. Can be rolled back."""
        summary = self.summaries[identity]
        before, summary.round = summary.round, -1
        self._journal.done(partial(setattr, summary, "round", before))

    def drop(self, dropped: Sequence[tuple[ContextKey, Summary]]) -> None:
        """Removes invalid contexts: they are neither found again nor part of the facts. Can be rolled back."""
        gone = {summary.identity for _, summary in dropped}
        places: list[list[Summary]] = []
        for key, summary in dropped:
            identity, _, closure, _ = key
            for place in (self._by_key.get(key), self._of.get(identity), self._of_closure.get((identity, closure))):
                if place is not None and not any(place is other for other in places):
                    places.append(place)
            self._journal.put(self.dropped, summary.identity, None)
            before = summary.round
            summary.round = -1
            self._journal.done(partial(setattr, summary, "round", before))
        for place in places:
            kept = list(place)
            place[:] = [summary for summary in kept if summary.identity not in gone]
            self._journal.done(partial(place.__setitem__, slice(None), kept))

    def forget(self) -> None:
        """From now on, none of the present summaries is found again."""
        self._by_key.clear()

    def forget_readers(self, fields: Set[HeapKey], whole: ObjectId | None, unfinished: Iterable[int]) -> None:
        """From now on, no summary is found again that depends on these settled fields, or on any of the object `whole`, itself or
        through its callees.

        `unfinished` are contexts that depend on running ones, of which that is not known.
        """
        answers: dict[int, bool] = {}

        def has_read(summary: Summary) -> bool:
            fixed = summary.fixed
            answer = answers.get(id(fixed))  # equal sets are shared
            if answer is None:
                answer = not fields.isdisjoint(fixed) or (
                    whole is not None and any(number == whole for number, _ in fixed)
                )
                answers[id(fixed)] = answer
            return answer

        gone = {identity for identity, summary in self.summaries.items() if has_read(summary)}
        gone.update(unfinished)
        if not gone:
            return
        pending = list(gone)
        while pending:
            more = [user for user in self._users.get(pending.pop(), ()) if user not in gone]
            gone.update(more)
            pending += more
        for summaries in self._by_key.values():
            if any(summary.identity in gone for summary in summaries):
                summaries[:] = [summary for summary in summaries if summary.identity not in gone]

    def forget_settled_reads(self, settled: SettledHeap) -> None:
        """Removes reads of newly settled fields from the existing summaries, and drops summaries that read another
        value there.
        """
        for key, summaries in self._by_key.items():
            kept: list[Summary] = []
            for summary in summaries:
                fixed = {field for field in summary.reads if field in settled.fields or field[0] in settled.objects}
                if all(summary.reads[field] == settled.fields.get(field) for field in fixed):
                    summary.reads = {field: value for field, value in summary.reads.items() if field not in fixed}
                    summary.fixed |= fixed
                    kept.append(summary)
            self._by_key[key] = kept


def _seen_eagerly(summary: Summary) -> int:
    """A number that is equal for contexts that differ only in sizes that are open while a graph is traced."""
    if summary.seen_eagerly is None:
        parameters = tuple(map(without_marks, summary.parameters.values()))
        reads = frozenset(
            (field, None if value is None else without_marks(value)) for field, value in summary.reads.items()
        )
        summary.seen_eagerly = hash((parameters, reads, summary.in_graph))
    return summary.seen_eagerly


def unsettled(reads: Mapping[HeapKey, Value | None], settled: SettledHeap) -> Mapping[HeapKey, Value | None]:
    """The reads of fields that are not settled."""
    if not settled.fields:
        return reads
    return {field: value for field, value in reads.items() if not settled.has(field)}


def is_of_object(summary: Summary) -> bool:
    """Whether it is a function, or a method called on a known object. The wrapper of an unused decorator passes unknown objects."""
    if summary.function.kind is not FunctionKind.METHOD:
        return True
    return not isinstance(next(iter(summary.parameters.values()), None), UnknownValue)
