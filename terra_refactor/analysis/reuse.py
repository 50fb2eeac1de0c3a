"""Reuses function summaries across incremental runs.

Computes: which summaries of an earlier run equal those of a full run. Needs: an interpreter that writes logs. Gives: `SummaryStore`
(which outlives a run), `Adoption` (of one run).

The behaviour of a context depends on its key, on the state that it reads (recorded in its summary), and on its queries to the analysis:
which summaries its calls find, the notes about parameters, the tables in which its names are looked up. The log of a context has these
queries with their answers, and its notifications, in order. A summary is reused if its reads hold, its code and that of all callees is
unchanged, and replaying the log finds the same answers; its notifications are repeated. If an answer differs, all that is rolled back,
and the context is run.

If a context that is run again has the same result, it replaces the old one, and its callers stay valid. This is determined before callers
are run: if replaying the log of a caller meets an invalid context, that context is run alone, from its recorded reads (`alone`), at
exactly that point of the log. Contexts in a recursion are valid only inside of its outermost context: they are reused together with that
one, never alone.

Ignores (such contexts are run again): contexts that exceed a budget of steps, functions that import a module first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any, Final, Protocol

from terra_refactor.analysis.abstract_heap import WHOLE_OBJECT
from terra_refactor.analysis.alone import AsRecorded, RecordedState, Runner, run_alone
from terra_refactor.analysis.assembled import Assembled
from terra_refactor.analysis.code_names import CodeNamesTable
from terra_refactor.analysis.code_table import CodeTable
from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.joined_calls import joins_to
from terra_refactor.analysis.log import Asked, Called, ContextKey, Event, Flags, Joined, Log, Told
from terra_refactor.analysis.module_bodies import Beginning, ModuleBodies, ModuleBody
from terra_refactor.analysis.objects import ObjectTable
from terra_refactor.analysis.renumbering import Moves, Renumbering, moved_operations
from terra_refactor.config import ProjectModel
from terra_refactor.domain.lattice import references
from terra_refactor.domain.state import Comparisons, HeapKey, Naming, SettledHeap, State, forget_since, same_reads
from terra_refactor.domain.value import ObjectId, Value
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program

MAX_GROWTH: Final = 3
"""Growth factor at which a store is emptied, which drops the contexts of old edits."""


class Resumable(Runner, Protocol):
    """The engine of a run that reuses summaries of an earlier one."""

    running: list[FunctionId]

    def tried(self, step: Callable[[], bool]) -> bool: ...

    def is_nested_too_deep(self, log: Log) -> bool: ...

    def register_again(self, summary: Summary) -> None: ...


class SummaryStore:
    """The state that one run passes to the next."""

    def __init__(self) -> None:
        self.objects = ObjectTable(ordered_by_run=True)
        self.names = CodeNamesTable()
        self.next_identity = 0
        self.first_size = 0
        self.by_key: dict[ContextKey, list[Summary]] = {}
        self.by_identity: dict[int, Summary] = {}
        self.settled: SettledHeap | None = None
        self.bodies: tuple[ModuleBody, ...] = ()
        """The results of the bodies of modules, in the order in which they finished."""
        self.functions: dict[FunctionId, Function] = {}
        """The functions whose operation numbers the summaries use: those of the last run, finished or not."""
        self.changed: set[FunctionId] = set()
        """The functions that changed since the last finished run, to which the summaries belong."""
        self.changed_outside: set[FunctionId] = set()
        """Those of the changed functions that look different to their callers."""
        self.is_unfinished = False
        """The last run was interrupted."""
        self.code: CodeTable | None = None
        """Cached facts about the code of these functions."""
        self.modules: object = None
        """The modules of the last run, with its input about them."""
        self.taken_over = 0
        """Number of contexts that were reused from the last run."""
        self.edited: Mapping[FunctionId, Moves] | None = None
        """The functions that behaved differently in the last run than in the previous one, each with the new numbers of
        its operations, if nothing else outside of them differs; None if more differs, or if that run is unknown.
        """
        self.executed: frozenset[FunctionId] = frozenset()
        """The functions whose contexts the last run executed rather than reused."""
        self.share_of_steps = 1.0
        """The fraction of its budget that the last run used."""
        self.assembled: Assembled | None = None
        """The assembled parts of its facts."""

    def begin(self, program: Program, models: Mapping[str, ProjectModel], tf_version: str | None = None) -> Adoption:
        """The part of the store that is valid for a program and its declarations."""
        about = dict(program.stubs), dict(program.data), dict(models), dict(program.recorded)
        modules = (tuple(program.modules), *about, program.usual, tf_version)
        if modules != self.modules or (self.first_size and len(self.objects.facts) > MAX_GROWTH * self.first_size):
            self.__init__()  # type: ignore[misc]
            self.modules = modules
        self.objects.begin()
        return Adoption(self, program)

    def renumber(self, renumbering: Renumbering) -> None:
        """Updates the store to the new numbers of operations."""
        if renumbering:
            self.objects.renumber(renumbering)
            summaries = [renumbering.summary(summary) for summary in self.by_identity.values()]
            if any(new is not old for new, old in zip(summaries, self.by_identity.values(), strict=True)):
                self._keep(summaries)

    def _keep(self, summaries: Iterable[Summary]) -> None:
        self.by_key, self.by_identity = {}, {}
        for summary in summaries:
            self.by_identity[summary.identity] = summary
            if summary.log is not None:
                self.by_key.setdefault(summary.log.key, []).append(summary)

    def begun(self, program: Program, changed: Set[FunctionId], changed_outside: Set[FunctionId]) -> None:
        """Sets the program whose operation numbers are used from now on, and its functions that changed since the last
        finished run.
        """
        self.functions = {function.id: function for module in program.modules.values() for function in module.functions}
        self.changed, self.changed_outside = set(changed), set(changed_outside)
        self.is_unfinished = True

    def _finished(self, program: Program) -> None:
        """Marks the summaries as those of this program."""
        self.begun(program, frozenset(), frozenset())
        self.is_unfinished = False

    def keep(self, engine: Engine, adoption: Adoption | None, program: Program) -> None:
        """Keeps the results of a finished run."""
        contexts = engine.contexts
        self._keep(summary for identity, summary in contexts.summaries.items() if identity not in contexts.dropped)
        self.settled = engine.world.settled
        self.bodies = () if adoption is None else tuple(adoption.modules.finished)
        self._finished(program)
        self.code = engine.code
        self.next_identity = contexts.next_identity
        self.taken_over = 0 if adoption is None else adoption.taken_over
        in_step = adoption is not None and adoption.is_in_step and not engine.epoch
        self.edited = adoption.moves if in_step and adoption is not None else None
        self.executed = frozenset() if adoption is None else frozenset(adoption.executed)
        self.share_of_steps = engine.steps.used / engine.steps.given
        self.first_size = self.first_size or len(self.objects.facts)

    def kept(self) -> tuple[object, ...]:
        """The contents as plain data, without the program."""
        settled = self.settled
        return (
            self.objects.kept(),
            self.next_identity,
            self.first_size,
            list(self.by_identity.values()),
            None if settled is None else (settled.first_fields, settled.first_objects),
            None if self.assembled is None else self.assembled.kept(),
            self.bodies,
        )

    def restore(self, kept: tuple[Any, ...], program: Program) -> None:
        """Restores the state of the store after the last run of this program."""
        objects, self.next_identity, self.first_size, summaries, settled, assembled, self.bodies = kept
        self.objects.restore(objects)
        self._keep(summaries)
        if settled is not None:
            self.settled = SettledHeap()
            self.settled.first_fields, self.settled.first_objects = settled
        self._finished(program)
        self.assembled = None if assembled is None else Assembled.restored(assembled)


class Adoption:
    """The reuse of a store's summaries in one run."""

    def __init__(self, store: SummaryStore, program: Program) -> None:
        self.store = store
        self.engine: Resumable
        self.changed: set[FunctionId] = set()
        """The functions whose behaviour changed."""
        self.unchanged: list[FunctionId] = []
        """The functions with unchanged operations."""
        self.changed_outside: set[FunctionId] = set()
        """The functions that look different to their callers or definers."""
        self.changed_fields: set[HeapKey] | None = None
        """The settled fields that changed; None if not known (yet)."""
        self._unsettled_objects: Set[ObjectId] = frozenset()
        """Objects whose unset fields are no longer settled."""
        self.taken_over = 0
        self._replaying: list[Log] = []
        self._dead: set[Log] = set()
        """The logs of invalid summaries."""
        self._made: set[Log] = set()
        """The logs of summaries of this run."""
        self.executed: set[FunctionId] = set()
        """The functions whose contexts were run."""
        self.modules = ModuleBodies(store.bodies)
        self._class_bodies: dict[int, Summary] = {}
        """The results of the bodies of classes that were run, even if that was rolled back."""
        known = store.functions
        is_after_unfinished = store.is_unfinished
        moves: dict[FunctionId, Moves] = {}
        for module in program.modules.values():
            for function in module.functions:
                old = known.get(function.id)
                if old is function and function.id not in store.changed:
                    self.unchanged.append(function.id)
                    continue
                if old is None or function.id in store.changed_outside or not old.looks_the_same_as(function):
                    self.changed_outside.add(function.id)
                    self.changed.add(function.id)
                elif function.id in store.changed or (old.body is not function.body and old.body != function.body):
                    self.changed.add(function.id)
                if function.id not in self.changed:
                    self.unchanged.append(function.id)
                elif old is not None:
                    moves[function.id] = moved_operations(old, function)
        # only invalid results refer to a removed function, and it would be looked up through them
        self.changed_outside |= known.keys() - {*self.changed, *self.unchanged}
        self.moves = moves
        """The new numbers of operations of changed functions."""
        store.renumber(Renumbering(moves))
        store.begun(program, self.changed, self.changed_outside)
        bodies = (FunctionKind.MODULE, FunctionKind.CLASS_BODY)
        self.is_in_step = (
            not is_after_unfinished
            and len(known) == len(self.changed) + len(self.unchanged)
            and not self.changed_outside
            and not any(known[each].kind in bodies for each in self.changed)
        )
        """Whether all effects of this run outside of the changed functions have equalled those of the last run so far."""

    def settle(self, settled: SettledHeap) -> None:
        """Compares the settled fields with the earlier ones."""
        old = self.store.settled
        if old is None:
            self.is_in_step = False
            return
        before, now = old.first_fields, settled.fields
        different = {key for key, value in now.items() if key not in before or before[key] != value}
        different.update(key for key in before if key not in now)
        known = old.first_objects
        self.is_in_step = self.is_in_step and not different and known == settled.objects
        # reads of method resolution orders are not recorded; new or removed classes are never looked up again
        there, here = known | {key[0] for key in before}, settled.objects | {key[0] for key in now}
        if any(name == "__bases__" and number in there and number in here for number, name in different):
            return
        self.changed_fields = different
        self._unsettled_objects = known - settled.objects

    def adopt(
        self, key: ContextKey, state: State, naming: Naming | None, entry: EntryKind, flags: Flags
    ) -> Summary | None:
        """The summary of an earlier run for a call without a valid summary of this run; None if there is none."""
        comparisons = Comparisons(state, naming)
        for summary in self.store.by_key.get(key, ()):
            log = summary.log
            if log is None or log in self._dead or summary.identity in self.engine.contexts.summaries:
                continue
            if log.within is not None or not self._is_of_this_epoch(log):
                continue
            if not same_reads(state, log.reads, summary.absent, naming, summary.suspect, comparisons):
                continue
            if summary.entry is entry and log.flags == flags:
                if self._tried(partial(self.replay, summary)):
                    return summary
            # the call is run, and its result replaces this one
            self._dead.add(log)
            forget_since(comparisons.marks())
        return None

    def replay(self, summary: Summary) -> bool:
        """Reuses a summary, with all its callees, if it is valid; otherwise the caller must roll back the replay."""
        log, engine = summary.log, self.engine
        if log is None or log in self._dead or not self._is_current(log):
            return False
        functions, height = log.functions, log.height
        objects = engine.objects
        log.functions, log.height = {summary.function.id, *log.recursive}, 0
        self._replaying.append(log)
        try:
            for event in log.events:
                if type(event) is int:
                    objects.see(event)
                elif not self._holds(event, log):
                    log.functions, log.height = functions, height
                    self._dead.add(log)
                    return False
        finally:
            self._replaying.pop()
        if engine.is_nested_too_deep(log) or not log.functions.isdisjoint(engine.running):
            self._dead.add(log)
            return False
        engine.register_again(summary)
        self.taken_over += log not in self._made
        return True

    def _holds(self, event: Event, log: Log) -> bool:
        """Replays an event of a context; returns whether the answer is the same."""
        match event:
            case Told(note, arguments):
                note(self.engine, *arguments)
                return True
            case Asked(question, arguments, answer):
                return bool(question(self.engine, *arguments) == answer)
            case Called(joined=None):
                return self._calls_the_same(event, log)
            case Called(joined=Joined() as call):
                return self._joins_the_same(event, call) and self._calls_the_same(event, log)
            case _:
                raise AssertionError(event)

    def _calls_the_same(self, event: Called, log: Log) -> bool:
        """Whether a call finds the same summary, which is replayed first if necessary."""
        contexts = self.engine.contexts
        known = contexts.summaries.get(event.identity)
        summary = self.store.by_identity.get(event.identity) if known is None else known
        if summary is None or summary.log is None:
            return False
        inner = summary.log
        if contexts.has_another(inner.key, summary):
            outside = RecordedState(inner.reads, summary.absent, self.engine.world.settled)
            if (
                contexts.find(inner.key, outside, AsRecorded(self.engine.objects.level_names, inner.key[0]))
                is not known
            ):
                return False
        if known is not None:
            contexts.touch(known)
        else:
            if summary.entry is not event.entry or inner.flags != event.flags:
                return False
            if inner.within is not None and not self.is_replaying(inner.within):
                return False
            is_general = event.flags[-1]
            if event.entry is EntryKind.CALLED and not is_general and not contexts.is_told_apart(inner.key):
                return False
            if not self._tried(partial(self.replay, summary)):
                summary = self._run_alone(summary)
            if summary is None or summary.log is None:
                return False
            if event.function in summary.log.functions and not self.is_replaying(inner.within):
                return False
        assert summary.log is not None
        log.reached(summary.log)
        return True

    def _run_alone(self, old: Summary) -> Summary | None:
        """Runs an invalid context alone; returns its new summary, or None if the caller must be run."""
        log = old.log
        if log is None or log.within is not None or not self._is_of_this_epoch(log):
            return None
        made: list[Summary] = []

        def gives_the_same() -> bool:
            summary = run_alone(self.engine, old)
            if summary is None or summary.log is None or summary.identity != old.identity:
                return False
            made.append(summary)
            # a recursion is run from its outermost context
            return all(replaying.key[0] not in summary.log.functions for replaying in self._replaying)

        self._dead.add(log)
        return made[0] if self._tried(gives_the_same) else None

    def _tried(self, step: Callable[[], bool]) -> bool:
        """Runs a step; if it fails, all its changes are rolled back."""
        before = self.taken_over
        succeeded = self.engine.tried(step)
        if not succeeded:
            self.taken_over = before
        return succeeded

    def keep(self, summary: Summary) -> None:
        """Keeps the result of a context that was run alone even after a rollback, for the run of its caller."""
        log = summary.log
        assert log is not None
        self._made.add(log)
        same_key = self.store.by_key.setdefault(log.key, [])
        self.store.by_key[log.key] = [*(old for old in same_key if old.identity != summary.identity), summary]
        self.store.by_identity[summary.identity] = summary

    def _joins_the_same(self, event: Called, call: Joined) -> bool:
        """Whether a call with joined arguments is still joined, with the same arguments."""
        contexts = self.engine.contexts
        known = contexts.summaries.get(event.identity)
        summary = known or self.store.by_identity.get(event.identity)
        if summary is None or summary.log is None:
            return False
        if known is None and not contexts.has_room(call.key):
            return False
        return joins_to(self.engine, call, summary.log.key)

    def is_replaying(self, log: Log | None) -> bool:
        """Whether the context of that log is being replayed."""
        return any(each is log for each in self._replaying)

    def _is_current(self, log: Log) -> bool:
        if not self._is_of_this_epoch(log):
            return False
        if log in self._made:
            return True
        if not self.changed_outside.isdisjoint(log.codes) or not self.changed.isdisjoint(log.bodies):
            return False
        if log.fixed:
            if self.changed_fields is None or not self.changed_fields.isdisjoint(log.fixed):
                return False
            unsettled, fields = self._unsettled_objects, self.engine.world.settled.fields
            return not unsettled or all(key[0] not in unsettled or key in fields for key in log.fixed)
        return True

    def _is_of_this_epoch(self, log: Log) -> bool:
        """Whether the context would record the same reads in the present epoch. Its callees are asked themselves."""
        then, now = log.epoch, self.engine.epoch
        if then == now:
            return True
        if then is None or now is None:
            return False
        between = {*then} ^ {*now}
        return not any(key[1] in WHOLE_OBJECT or key in log.fixed or key in log.reads for key in between)

    def adopt_module(self, module: str, beginning: Beginning, flags: Flags) -> Summary | None:
        """The result of a module's body in an earlier run, with its writes made again; None if it has to be run."""
        known = self.modules.at(module, beginning)
        summary = None if known is None else self.store.by_identity.get(known.identity)
        if known is None or known.writes is None or summary is None or summary.log is None:
            return None
        if summary.log.flags != flags or not self._tried(partial(self.replay, summary)):
            return None
        world = self.engine.world
        for key, value in known.writes.items():
            world.set(key, value)
        self.modules.finish(known)
        return summary

    def ran_module(self, summary: Summary, beginning: Beginning, writes: Mapping[HeapKey, Value] | None) -> None:
        """Notes that the body of a module was run, and its writes, if they are known."""
        name = summary.function.id.module
        self.modules.finish(ModuleBody(name, beginning, summary.identity, writes))

    def note_body(self, summary: Summary) -> None:
        """Keeps the result of the body of a class."""
        self._class_bodies[summary.identity] = summary

    def body(self, identity: int) -> Summary | None:
        """The result of the body of a class, of this run or an earlier one."""
        return self._class_bodies.get(identity) or self.store.by_identity.get(identity)

    def ran(self, function: FunctionId, summary: Summary) -> None:
        """Records that a context was run, before its summary replaces an earlier one."""
        self.executed.add(function)
        log = summary.log
        if function in self.changed and self.is_in_step:
            known = None if log is None else self._same_as_before(summary, log)
            self.is_in_step = log is not None and known is not None and log.tells_the_same_as(known.log)

    def take_place(self, summary: Summary) -> int | None:
        """The identity of the old summary that a new one with the same result for callers replaces."""
        log = summary.log
        known = None if log is None else self._same_as_before(summary, log)
        if known is None or known.log is None:
            return None
        self._dead.add(known.log)
        return known.identity

    def _same_as_before(self, summary: Summary, log: Log) -> Summary | None:
        """The old summary that is equal to a new one for callers."""
        if log.within is not None:
            return None
        for old in self.store.by_key.get(log.key, ()):
            known = old.log
            if known is None or old.identity in self.engine.contexts.summaries:
                continue
            if (
                known.within is None
                and self._is_of_this_epoch(known)
                and old.entry is summary.entry
                and known.reads == log.reads
                and old.absent == summary.absent
                and old.returns == summary.returns
                and old.writes == summary.writes
                and old.staged == summary.staged
                and old.effects == summary.effects
                and old.state_reads == summary.state_reads
                and old.overwrites == summary.overwrites
                and _new_outside(old) == _new_outside(summary)
            ):
                return old
        return None


def _new_outside(summary: Summary) -> Set[ObjectId]:
    """The objects created by a context that its callers can reach."""
    if not summary.allocated:
        return summary.allocated
    named = references(summary.returns).union(key[0] for key in (*summary.writes, *summary.state_reads))
    return summary.allocated & named
