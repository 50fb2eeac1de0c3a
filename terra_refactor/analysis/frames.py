"""The interpreter's state while it runs one function, and the summary that it keeps afterwards.

Computes: nothing. Gives: `Frame` (mutable, one for each running context), `Summary` (a finished context, valid where
its reads hold), `CallArguments`. The facts are created from the summaries at the end of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import BranchFact, ChangedParts, EntryKind, FailureFact, ObjectKind
from terra_refactor.analysis.log import Log
from terra_refactor.domain.dim import Dim, OpenDim
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind, Target
from terra_refactor.domain.lattice import WITHOUT_OBJECTS, filter_members, join_all, references, rename
from terra_refactor.domain.state import EXISTS, HeapKey, Naming, State, Suspect
from terra_refactor.domain.value import BOTTOM, FunctionValue, ObjectId, Reference, UnionValue, Value
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op

MAX_STEPS_OF_A_FRAME: Final = 60_000
"""Maximum number of operations per context; the result is unknown beyond it."""
STEPS_OF_LONG_CODE: Final = 4
"""Minimum budget of a context per operation of its code, so that long functions are not cut off."""
MAX_EFFECTS: Final = 200
"""Maximum number of distinct effects of one context; one more stands for all others."""


FieldKey: TypeAlias = tuple[ObjectKind, str, str]
"""A field, without the identity of the object: kind and class of the object, and the field; `[]` is its content."""

StaleRead: TypeAlias = tuple[EffectSite, str, tuple[FunctionId, ...]]
"""A read of state that other code changes: its place, the field, and the functions called on the way there."""


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Arguments of one call. `open_positional` is the element of a `*` argument of unknown length, `open_keywords` of a `**` one."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    open_positional: Value | None = None
    open_keywords: Value | None = None
    open_mapping: Value | None = None
    """The loaded file from which all items of `open_keywords` come, if there is one."""
    open_count: Dim = None
    """The number of values that `open_positional` stands for, if known."""

    def with_first(self, *values: Value) -> CallArguments:
        """The arguments, preceded by `values`."""
        return replace(self, positional=(*values, *self.positional))


@dataclass(slots=True)
class LoopFrame:
    """A loop that is being interpreted: the state from which its body forks, and the states in which control leaves the body."""

    base: State
    doubt: int = 0
    """The number of undecided conditions around the loop."""
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    staged: OpId | None = None
    """The first condition on a tensor that leaves its body early: the graph merges all paths at the end of the body."""
    doubtful: set[OpId] = field(default_factory=set)
    """Operations that fail in this iteration under an undecided condition inside the loop."""


@dataclass(slots=True)
class FinalFrame:
    """A `finally` or `__exit__` that runs on every path out of the present block."""

    base: State
    loops: int
    """The number of enclosing loops; a `break` of a deeper loop stays inside."""
    leaving: list[tuple[Op, Value, State]] = field(default_factory=list)
    """The `return`s (with their values), `break`s and `continue`s that leave it."""


@dataclass(slots=True)
class Collector:
    """The elements of a comprehension that is being interpreted."""

    depth: int
    """`Frame.uncertainty` outside; at a higher value it is uncertain how often an element is added."""
    elements: list[tuple[Value | None, Value]] = field(default_factory=list)
    exact: bool = True


@dataclass(slots=True)
class CallRecord:
    """The callees of one operation, collected over its executions in this context."""

    callees: dict[int, None] = field(default_factory=dict)
    certain: set[int] = field(default_factory=set)
    """The callees that were called under no undecided condition on parameters."""
    chosen: set[int] = field(default_factory=set)
    """The same for calls with several possible functions: the arguments may be meant for another one."""
    library: dict[str, None] = field(default_factory=dict)
    unknown: str | None = None
    open_size: OpenDim | None = None

    def finished(self) -> RecordedCall:
        """The frozen form, after the context has run."""
        callees = tuple(self.callees)
        certain = callees if len(self.certain) == len(callees) else tuple(sorted(self.certain))
        chosen = tuple(sorted(self.chosen - self.certain))
        return RecordedCall(callees, certain, tuple(self.library), self.unknown, self.open_size, chosen)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The callees of one operation of a finished context: the fields of `CallRecord`."""

    callees: tuple[int, ...]
    certain: tuple[int, ...]
    library: tuple[str, ...]
    unknown: str | None
    open_size: OpenDim | None
    chosen: tuple[int, ...] = ()


@dataclass(slots=True)
class Summary:
    """One function analysed for one tuple of arguments, valid in any state in which `reads` hold and the objects of
    `absent` do not exist.
    """

    identity: int
    function: Function
    entry: EntryKind
    in_graph: bool
    parameters: Mapping[str, Value]
    reads: Mapping[HeapKey, Value | None]
    absent: frozenset[HeapKey]
    """The `EXISTS` of objects that must not exist outside."""
    writes: Mapping[HeapKey, Value]
    """Writes to objects that outlive the call, and to new objects that are reachable from these or from the result."""
    staged: Mapping[HeapKey, Value]
    """The values of `writes` in a graph, where they differ: a branch or loop of the graph sets them. They are the values of objects
    that a graph creates itself; other objects are changed in eager code only.
    """
    returns: Value
    contents: Value
    """Returned values, with the contents of lists and dicts."""
    effects: tuple[Effect, ...]
    allocated: frozenset[ObjectId]
    state_reads: Mapping[HeapKey, tuple[EffectSite, tuple[EffectSite, ...]]]
    overwrites: frozenset[str]
    """The attributes that it writes on all paths before it reads them: their earlier values do not matter."""
    holders: Mapping[ObjectId, frozenset[FieldKey]]
    """The fields that hold the containers that it reads or changes."""
    stale_reads: frozenset[StaleRead]
    """Its callees' reads of state that is written again afterwards."""
    rewritten_reads: frozenset[StaleRead]
    """Its callees' reads of state that the same call has set to a new value before."""
    repeats: frozenset[FunctionId]
    """The functions that it calls in a loop."""
    arrivals: Mapping[FunctionId, tuple[tuple[str, tuple[Value, ...]], ...]]
    """The arguments that its calls pass to each function."""
    values: tuple[Value | None, ...]
    calls: Mapping[OpId, RecordedCall]
    entered: tuple[int, ...]
    """The contexts in which nested functions without callers were entered."""
    branches: Mapping[OpId, BranchFact]
    failures: Mapping[OpId, FailureFact]
    guarded_failures: Mapping[OpId, FailureFact]
    problem: str | None
    round: int = 0
    """The last round that reached it."""
    fixed: frozenset[HeapKey] = frozenset()
    """The settled fields whose values it depends on itself; its callees have their own."""
    used: frozenset[int] = frozenset()
    """The contexts whose results it used, and the outermost contexts of its recursions."""
    log: Log | None = None
    """Log of its queries and notifications, if summaries are kept for another run and this one can be reused."""
    suspect: Suspect = field(default_factory=Suspect, compare=False)
    seen_eagerly: int | None = field(default=None, compare=False)
    """See `contexts`; None before the first use."""


class Frame:
    """One context that is being interpreted."""

    __slots__ = (
        "abstract",
        "advanced",
        "allocated",
        "alternatives",
        "arrays_changed",
        "arrivals",
        "branches",
        "calls",
        "cells",
        "class_annotations",
        "class_object",
        "closure",
        "collectors",
        "conditions",
        "doubt",
        "earlier_values",
        "early",
        "effects",
        "entered",
        "entry",
        "exits",
        "failures",
        "finals",
        "first_ends",
        "first_parts",
        "function",
        "gradients",
        "guarded_failures",
        "handlers",
        "in_graph",
        "iteration",
        "loop_lengths",
        "loops",
        "made",
        "makers",
        "max_steps",
        "module_object",
        "parameters",
        "problem",
        "provoked",
        "reading_calls",
        "repeated",
        "returns",
        "root",
        "sites",
        "staged_fields",
        "state",
        "state_reads",
        "steps",
        "uncertainty",
        "values",
        "writes_at",
        "yields",
    )

    def __init__(
        self,
        function: Function,
        state: State,
        closure: Mapping[str, ObjectId],
        parameters: Mapping[str, Value],
        module_object: ObjectId,
        entry: EntryKind,
        in_graph: bool,
    ) -> None:
        self.function = function
        self.root = state
        """The boundary state: the part of the state that reaches the caller."""
        self.state = state
        self.closure = closure
        self.parameters = parameters
        self.module_object = module_object
        self.entry = entry
        self.in_graph = in_graph
        self.values: list[Value | None] = [None] * function.op_count
        self.arrays_changed: list[OpId] = []
        """The array arguments of the present call whose content a callee has changed."""
        self.earlier_values: dict[OpId, list[Value]] = {}
        """The results of an operation in earlier iterations of an unrolled loop, and on other paths through a `finally` block."""
        self.cells: dict[str, ObjectId] = {}
        self.class_object: ObjectId | None = None
        """In a class body: the class object, whose attributes the names become."""
        self.class_annotations: dict[str, Value] = {}
        """In a class body: the annotations by name, in order."""
        self.advanced = False
        """Whether it takes some elements of an iterator and leaves others, so that the remaining number is unknown."""
        self.loop_lengths: dict[OpId, Dim] = {}
        """The number of iterations of each `for`, if known and always the same."""
        self.first_ends: dict[OpId, dict[str, Value]] = {}
        """The variables after the first iteration, for the last run of each loop."""
        self.first_parts: dict[OpId, ChangedParts] = {}
        """The attributes and items that the first iteration changes, likewise: see `BranchFact.parts`."""
        self.loops: list[LoopFrame] = []
        self.handlers: list[tuple[State, list[State]]] = []
        """For each enclosing `try`: the state from which it forks, and the states in which its body raises."""
        self.finals: list[FinalFrame] = []
        self.collectors: list[Collector] = []
        self.returns: list[tuple[Value, State]] = []
        self.early: list[tuple[OpId, State]] = []
        """The `return`s, with the states there."""
        self.yields: Value = BOTTOM
        self.iteration: tuple[int, ...] = ()
        """The current iteration of each enclosing unrolled loop."""
        self.repeated = 0
        """The number of enclosing final blocks that already ran for another exit."""
        self.exits = 0
        """The number of times that control left by `return`, `break` or `continue`, or that an exception was caught."""
        self.alternatives = 0
        """The number of enclosing calls with several possible callees: a failure in one of them may not happen."""
        self.conditions = 0
        """The number of enclosing branches whose conditions depend on parameters and are undecided."""
        self.doubt = 0
        """The number of enclosing branches, within the innermost unrolled loop or the function, whose condition is unknown."""
        self.gradients = 0
        """The depth of nested gradients of `tf.custom_gradient` functions."""
        self.uncertainty = 0
        """The number of enclosing branches and loops that may not run, or run an unknown number of times."""
        self.allocated: set[ObjectId] = set()
        self.makers: dict[OpId, dict[ObjectId, tuple[int, ...]]] = {}
        """The objects that each operation has created, and in which iteration."""
        self.arrivals: dict[FunctionId, dict[str, dict[Value, None]]] = {}
        """The arguments that its calls pass to each function."""
        self.effects: dict[tuple[object, ...], Effect] = {}
        self.calls: dict[OpId, CallRecord] = {}
        self.branches: dict[OpId, BranchFact] = {}
        self.failures: dict[OpId, FailureFact] = {}
        self.guarded_failures: dict[OpId, FailureFact] = {}
        self.state_reads: dict[HeapKey, tuple[EffectSite, tuple[EffectSite, ...]]] = {}
        self.reading_calls: list[tuple[OpId, Summary, Naming]] = []
        """The calls that read state that outlives them, in order."""
        self.staged_fields: dict[HeapKey, tuple[Value, Value]] = {}
        """The fields of objects from outside that a branch or loop of the graph sets: their values in eager code and in a graph."""
        self.writes_at: dict[HeapKey, dict[tuple[OpId, EffectSite], None]] = {}
        """The operations that write state, and the places of the writes, here or in callees."""
        self.made: list[FunctionValue] = []
        """The nested functions that it defines."""
        self.entered: dict[int, None] = {}
        """The entry contexts of these functions, if they have no callers."""
        self.abstract = False
        """It may raise NotImplementedError, so a subclass determines its result."""
        self.problem: str | None = None
        self.provoked = 0
        """The number of enclosing `with` statements that expect an exception, as in tests."""
        self.sites: dict[OpId, EffectSite] = {}
        """The positions of operations, computed on request."""
        self.steps = 0
        self.max_steps = max(MAX_STEPS_OF_A_FRAME, STEPS_OF_LONG_CODE * function.op_count)

    def note_made(self, op: OpId, number: ObjectId) -> None:
        """Records that an operation of this call has created an object."""
        self.allocated.add(number)
        self.makers.setdefault(op, {})[number] = self.iteration

    def rename(self, number: ObjectId, mapping: Mapping[ObjectId, ObjectId]) -> None:
        """Renames an object in the results and writes of this path."""
        values = self.values
        for op, value in enumerate(values):
            kind = type(value)
            if value is None or kind in WITHOUT_OBJECTS:
                continue
            if kind is Reference:
                if value.object == number:  # type: ignore[union-attr]
                    values[op] = rename(value, mapping)
            elif number in references(value):
                values[op] = rename(value, mapping)
        for collector in self.collectors:
            collector.elements = [
                (None if key is None else rename(key, mapping), rename(value, mapping))
                for key, value in collector.elements
            ]
        self.yields = rename(self.yields, mapping)

    @contextmanager
    def apart(self, index: int) -> Iterator[None]:
        """Separates calls that one operation makes in sequence, as `map` does: the objects that each creates get names
        of their own.
        """
        doubt = self.doubt
        self.iteration, self.doubt = (*self.iteration, index), 0
        try:
            yield
        finally:
            self.iteration, self.doubt = self.iteration[:-1], doubt

    def site(self, op: OpId) -> EffectSite:
        """The position of operation `op`, for an effect."""
        site = self.sites.get(op)
        if site is None:
            identity = self.function.id
            site = self.sites[op] = EffectSite(identity.module, identity.index, op)
        return site

    def value(self, op: OpId | None) -> Value:
        """The result of an operation that has run on this path."""
        value = None if op is None else self.values[op]
        return BOTTOM if value is None else value

    def present(self, op: OpId | None) -> Value:
        """The result of an operation, without alternatives that do not exist in this call: objects that other calls of a joined context
        pass."""
        value = self.value(op)
        if type(value) is not UnionValue or self.root.naming is None:
            return value
        relative, state = self.root.naming.names.all, self.state
        return filter_members(
            value,
            lambda member: (
                type(member) is not Reference
                or member.object not in relative
                or state.get((member.object, EXISTS)) is not None
            ),
        )

    def note_read(self, op: OpId, key: HeapKey) -> None:
        """Records a read of state that outlives the call."""
        if key not in self.state_reads and key[0] not in self.allocated and key not in self.root.settled.fields:
            self.state_reads[key] = (self.site(op), ())

    def note_write(self, op: OpId, key: HeapKey, site: EffectSite) -> None:
        """Records that operation `op` writes, there or in a callee, to an object that this call may have created itself."""
        self.writes_at.setdefault(key, {})[op, site] = None

    def call_record(self, op: OpId) -> CallRecord:
        """The record of the callees of operation `op`."""
        record = self.calls.get(op)
        if record is None:
            record = self.calls[op] = CallRecord()
        return record

    def keep_earlier(self, op: OpId, value: Value) -> None:
        """Keeps the result of an operation in an unrolled loop, or in a repeated final block, before `value` replaces it."""
        known = self.values[op]
        if known is not None and known is not value:
            self.earlier_values.setdefault(op, []).append(known)

    def final_values(self) -> tuple[Value | None, ...]:
        """The result of each operation, joined over all iterations of unrolled loops and all paths through `finally` blocks."""
        for op, earlier in self.earlier_values.items():
            value = self.values[op]
            self.values[op] = join_all([*earlier, value] if value is not None else earlier)
        return tuple(self.values)

    def add_effect(self, effect: Effect) -> None:
        """Records an effect; of several that differ only in the chain of calls, the first is kept."""
        key = (effect.kind, effect.target.object, effect.target.path, effect.site)
        known = self.effects.get(key)
        if known is None:
            if len(self.effects) < MAX_EFFECTS:
                self.effects[key] = effect
            elif len(self.effects) == MAX_EFFECTS:
                # a user of the facts may tolerate the recorded effects, but must not tolerate unrecorded ones
                more = f"{self.function.qualname} (more than {MAX_EFFECTS} side effects)"
                self.effects[EffectKind.UNKNOWN_CALL, "more"] = Effect(
                    EffectKind.UNKNOWN_CALL, Target(RootKind.EXTERNAL, ""), more, effect.site, effect.via
                )
        elif (known.assumed and not effect.assumed) or (effect.keeps_tensor and not known.keeps_tensor):
            self.effects[key] = effect
