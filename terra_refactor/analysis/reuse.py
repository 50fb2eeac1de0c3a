"""Keeping summaries for the next run of the analysis, after a little of the program has changed.

Computes: which summaries of an earlier run are what a run from nothing would make now. Needs: an interpreter that writes logs. Gives:
`Log`, `SummaryStore` (which outlives a run), `Adoption` (of one run).

What a context does depends on its key and on the state that it reads, which its summary has, and on what it asks of the analysis itself:
which summaries its calls find, what was noted about parameters, which tables its names are looked up in. The log of a context has these
questions with their answers, and what it told the analysis, in order. A summary is taken over where its reads hold, its code and that
of all it calls is the same, and going through the log finds every answer the same; what the context told is told again on the way. If an
answer differs, all that is taken back, and the context is run.

A context that is run again and gives its callers what it gave before takes the place of the old one, and callers stay as they are.

What recursion brings forth holds only inside of the outermost context of the recursion: it is taken over with that one, and not alone.

Ignores (such contexts are run again): what runs out of a budget, functions that import a module first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from terra_refactor.analysis.code_names import CodeNamesTable
from terra_refactor.analysis.contexts import Key
from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.objects import ObjectTable
from terra_refactor.domain.state import HeapKey, Naming, SettledHeap, State, forget_since, marks_of, same_reads
from terra_refactor.domain.value import ObjectId, Value
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program

if TYPE_CHECKING:
    from terra_refactor.analysis.assembly import Assembled
    from terra_refactor.analysis.frames import Summary
    from terra_refactor.analysis.interpreter import Interpreter
    from terra_refactor.config import ProjectModel
    from terra_refactor.domain.dtype import DType

Flags: TypeAlias = "tuple[bool, bool, DType | None, bool, bool]"
Step: TypeAlias = "Callable[[Adoption], bool]"

MAX_GROWTH: Final = 3
"""A store that has so many times the objects that it started with is emptied: what edits left behind goes."""


class Log:
    """What one context asks and tells, in order; numbers of objects as they come up."""

    __slots__ = (
        "after_settling",
        "bodies",
        "codes",
        "events",
        "fixed",
        "flags",
        "functions",
        "height",
        "key",
        "reads",
        "recursive",
        "spoiled",
        "steps",
        "told",
        "within",
    )

    def __init__(self, key: Key, function: FunctionId, flags: Flags, *, after_settling: bool) -> None:
        self.key = key
        self.flags = flags
        self.after_settling = after_settling
        self.events: list[ObjectId | Step] = []
        self.told: set[object] = set()
        """What is in `events` already, and need not be there twice."""
        self.functions: set[FunctionId] = {function}
        """The function and all that it reaches by calls."""
        self.bodies: set[FunctionId] = {function}
        """The code that it runs itself: its function's, and that of classes in it."""
        self.codes: set[FunctionId] = {function}
        """The functions whose parameters or free variables it has seen."""
        self.recursive: set[FunctionId] = set()
        """The functions of which it, or what is in it, met a context that was running."""
        self.height = 0
        """How deep calls nest in it."""
        self.steps = 0
        self.spoiled = False
        """It depends on something that is not in the log."""
        self.reads: Mapping[HeapKey, Value | None] = {}
        self.fixed: frozenset[HeapKey] = frozenset()
        """The settled fields that it read."""
        self.within: Log | None = None
        """The outermost context of the recursion that it is part of; None for one that stands alone."""

    def once(self, mark: object, step: Step) -> None:
        """Notes what needs noting once."""
        if mark not in self.told:
            self.told.add(mark)
            self.events.append(step)

    def tell(self, note: Callable[[Interpreter], None]) -> None:
        """Notes what the context tells; it is told again where the summary is taken over."""

        def step(adoption: Adoption) -> bool:
            note(adoption.interpreter)
            return True

        self.events.append(step)

    def tell_once(self, mark: object, note: Callable[[Interpreter], None]) -> None:
        """`tell`, for what changes nothing when it is told again."""
        if mark not in self.told:
            self.told.add(mark)
            self.tell(note)

    def ask(self, is_same: Callable[[Interpreter], bool]) -> None:
        """Notes a question; `is_same` says whether the answer is still the same."""
        self.events.append(lambda adoption: is_same(adoption.interpreter))

    def reached(self, inner: Log) -> None:
        """Takes in what a call reached."""
        self.functions |= inner.functions
        self.height = max(self.height, inner.height + 1)


class SummaryStore:
    """What one run leaves for the next one."""

    def __init__(self) -> None:
        self.objects = ObjectTable(ordered_by_run=True)
        self.names = CodeNamesTable()
        self.next_identity = 0
        self.first_size = 0
        self.by_key: dict[Key, list[Summary]] = {}
        self.by_identity: dict[int, Summary] = {}
        self.settled: SettledHeap | None = None
        self.functions: dict[FunctionId, Function] = {}
        self.modules: object = None
        """The modules that the last run was about, with what it was told of them."""
        self.taken_over = 0
        """How many contexts the last run took over."""
        self.assembled: Assembled | None = None
        """What its facts were assembled from."""

    def begin(self, program: Program, models: Mapping[str, ProjectModel], tf_version: str | None = None) -> Adoption:
        """What of it holds for a program, and what users tell of it."""
        modules = (tuple(program.modules), dict(program.stubs), dict(models), dict(program.recorded), tf_version)
        if modules != self.modules or (self.first_size and len(self.objects.facts) > MAX_GROWTH * self.first_size):
            self.__init__()  # type: ignore[misc]
            self.modules = modules
        self.objects.begin()
        return Adoption(self, program)

    def keep(self, interpreter: Interpreter, program: Program) -> None:
        """Keeps what a finished run has made."""
        self.by_key, self.by_identity = {}, {}
        for summary in interpreter.contexts.summaries.values():
            self.by_identity[summary.identity] = summary
            if summary.log is not None:
                self.by_key.setdefault(summary.log.key, []).append(summary)
        self.settled = interpreter.world.settled
        self.functions = {function.id: function for module in program.modules.values() for function in module.functions}
        self.next_identity = interpreter.contexts.next_identity
        self.taken_over = 0 if interpreter.adoption is None else interpreter.adoption.taken_over
        self.first_size = self.first_size or len(self.objects.facts)


class Adoption:
    """Which summaries of a store a run takes over."""

    def __init__(self, store: SummaryStore, program: Program) -> None:
        self.store = store
        self.interpreter: Interpreter
        self.changed: set[FunctionId] = set()
        """The functions that do something else."""
        self.changed_outside: set[FunctionId] = set()
        """The functions that look different to who calls or makes them."""
        self.changed_fields: set[HeapKey] | None = None
        """The settled fields that are different; None where that is not known (yet)."""
        self.taken_over = 0
        self._replaying: list[Log] = []
        self._dead: set[int] = set()
        known = store.functions
        for module in program.modules.values():
            for function in module.functions:
                old = known.get(function.id)
                if old is function:
                    continue
                if old is None or not old.looks_the_same_as(function):
                    self.changed_outside.add(function.id)
                    self.changed.add(function.id)
                elif old.body is not function.body and old.body != function.body:
                    self.changed.add(function.id)

    def settle(self, settled: SettledHeap) -> None:
        """Compares what is settled now with what was."""
        old = self.store.settled
        if old is None or old.objects != settled.objects:
            return
        before, now = old.fields, settled.fields
        different = {key for key, value in now.items() if key not in before or before[key] != value}
        different.update(key for key in before if key not in now)
        if not any(name == "__bases__" for _, name in different):
            self.changed_fields = different

    def adopt(self, key: Key, state: State, naming: Naming | None, entry: EntryKind, flags: Flags) -> Summary | None:
        """The summary of an earlier run for a call that no summary of this run fits; None if there is none."""
        for summary in self.store.by_key.get(key, ()):
            log = summary.log
            if log is None or summary.identity in self._dead or summary.identity in self.interpreter.contexts.summaries:
                continue
            if log.after_settling is not self.interpreter.settled or log.within is not None:
                continue
            marks = marks_of(state)
            if not same_reads(state, log.reads, summary.absent, naming):
                continue
            if summary.entry is entry and log.flags == flags:
                before = self.taken_over
                if self.interpreter.tried(partial(self.replay, summary)):
                    return summary
                self.taken_over = before
            # the call is run, and what comes of it takes the place of this
            self._dead.add(summary.identity)
            forget_since(marks)
        return None

    def replay(self, summary: Summary) -> bool:
        """Takes a summary over, with all that it calls, if it holds; else what was told on the way has to be taken back."""
        log, interpreter = summary.log, self.interpreter
        if log is None or summary.identity in self._dead or not self._is_current(log):
            return False
        functions, height = log.functions, log.height
        objects = interpreter.objects
        log.functions, log.height = {summary.function.id, *log.recursive}, 0
        self._replaying.append(log)
        try:
            for event in log.events:
                if isinstance(event, int):
                    objects.see(event)
                elif not event(self):
                    log.functions, log.height = functions, height
                    self._dead.add(summary.identity)
                    return False
        finally:
            self._replaying.pop()
        if interpreter.is_nested_too_deep(log) or not log.functions.isdisjoint(interpreter.running):
            self._dead.add(summary.identity)
            return False
        interpreter.register_again(summary)
        self.taken_over += 1
        return True

    def is_replaying(self, log: Log | None) -> bool:
        """Whether the context of that log is being taken over."""
        return any(each is log for each in self._replaying)

    def _is_current(self, log: Log) -> bool:
        if not self.changed_outside.isdisjoint(log.codes) or not self.changed.isdisjoint(log.bodies):
            return False
        if log.after_settling is not self.interpreter.settled:
            return False
        if log.fixed:
            return self.changed_fields is not None and self.changed_fields.isdisjoint(log.fixed)
        return True

    def take_place(self, summary: Summary) -> int | None:
        """The identity of the old summary whose place a new one takes: it gives its callers the same."""
        log = summary.log
        if log is None or log.within is not None:
            return None
        for old in self.store.by_key.get(log.key, ()):
            known = old.log
            if known is None or old.identity in self.interpreter.contexts.summaries:
                continue
            if (
                known.within is None
                and known.after_settling is log.after_settling
                and old.entry is summary.entry
                and known.reads == log.reads
                and old.absent == summary.absent
                and old.returns == summary.returns
                and old.writes == summary.writes
                and old.effects == summary.effects
                and old.allocated == summary.allocated
                and old.state_reads == summary.state_reads
                and old.overwrites == summary.overwrites
            ):
                self._dead.add(old.identity)
                return old.identity
        return None


def called(adoption: Adoption, log: Log, function: FunctionId, identity: int, entry: EntryKind, flags: Flags) -> bool:
    """The step of a log that says which summary a call found or made."""
    interpreter = adoption.interpreter
    summary = interpreter.contexts.summaries.get(identity)
    if summary is not None:
        interpreter.contexts.touch(summary)
    else:
        summary = adoption.store.by_identity.get(identity)
        if summary is None or summary.log is None or summary.entry is not entry or summary.log.flags != flags:
            return False
        if summary.log.within is not None and not adoption.is_replaying(summary.log.within):
            return False
        is_general = flags[-1]
        if entry is EntryKind.CALLED and not is_general and not interpreter.contexts.is_told_apart(summary.log.key):
            return False
        if not adoption.replay(summary):
            return False
    if summary.log is None or (function in summary.log.functions and not adoption.is_replaying(summary.log.within)):
        return False
    log.reached(summary.log)
    return True


def called_with_others(
    adoption: Adoption,
    log: Log,
    function: FunctionId,
    identity: int,
    entry: EntryKind,
    flags: Flags,
    specific: Key,
    parameters: Mapping[str, Value],
) -> bool:
    """The step for a call whose arguments were joined with those of others, since there are too many contexts to tell apart."""
    contexts = adoption.interpreter.contexts
    summary = contexts.summaries.get(identity) or adoption.store.by_identity.get(identity)
    if summary is None or summary.log is None:
        return False
    if contexts.is_told_apart(specific) or not contexts.has_room(specific) or contexts.is_known(specific):
        return False
    identity_of_callee, _, closure, in_graph = specific
    joined = contexts.joined(specific, parameters)
    if (identity_of_callee, tuple(joined.values()), closure, in_graph) != summary.log.key:
        return False
    return called(adoption, log, function, identity, entry, flags)
