"""The interpreter's state while it runs one function, and the part that it keeps afterwards.

Computes: nothing. Gives: `Frame` (mutable, one for each running context), `Summary` (a finished context, valid where its reads hold),
`CallArguments`. The facts are made of these at the end of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import BranchFact, EntryKind, FailureFact, ObjectKind
from terra_refactor.analysis.log import Log
from terra_refactor.domain.dim import Dim, OpenDim
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind, Target
from terra_refactor.domain.lattice import join_all, names_object, rename
from terra_refactor.domain.state import HeapKey, Naming, State, Suspect
from terra_refactor.domain.value import BOTTOM, FunctionValue, ObjectId, Value
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Op

MAX_STEPS_OF_A_FRAME: Final = 60_000
"""Maximum number of operations per context; the result is unknown beyond it."""
STEPS_OF_LONG_CODE: Final = 4
"""At least this many for each operation of its code: a long function is not a costly one."""
MAX_EFFECTS: Final = 200
"""Distinct effects that are kept for one context; one more says that there are others."""


FieldKey: TypeAlias = tuple[ObjectKind, str, str]
"""A field as distinguished between functions: kind and class of the object, and the field; `[]` is its content."""

StaleRead: TypeAlias = tuple[EffectSite, str, tuple[FunctionId, ...]]
"""A read of state: its place, the field, and the functions called on the way there."""


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Arguments of one call. `open_positional` is the element of a `*` argument of unknown length, `open_keywords` of a `**` one."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    open_positional: Value | None = None
    open_keywords: Value | None = None
    open_mapping: Value | None = None
    """The loaded file whose items are all of `open_keywords`, if there is one."""

    def with_first(self, *values: Value) -> CallArguments:
        """The arguments with `values` before them."""
        return replace(self, positional=(*values, *self.positional))


@dataclass(slots=True)
class LoopFrame:
    """A loop that is being interpreted: the state its body forks from, and the states in which control leaves the body."""

    base: State
    doubt: int = 0
    """The number of conditions around the loop that are not known to hold."""
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    staged: bool = False
    """A condition on a tensor leaves its body early: the graph merges all paths to the end of the body."""
    doubtful: set[OpId] = field(default_factory=set)
    """Operations that fail in this iteration, under a condition inside of the loop that is not known to hold."""


@dataclass(slots=True)
class FinalFrame:
    """A `finally` or `__exit__` that has to run on every path out of the present block."""

    base: State
    loops: int
    """The number of enclosing loops: a `break` in a deeper one stays inside."""
    leaving: list[tuple[Op, Value, State]] = field(default_factory=list)
    """The `return`s (with their values), `break`s and `continue`s that lead out of it."""


@dataclass(slots=True)
class Collector:
    """The elements of a comprehension that is being interpreted."""

    depth: int
    """`Frame.uncertainty` outside: in a deeper one it is uncertain how often an element is added."""
    elements: list[tuple[Value | None, Value]] = field(default_factory=list)
    exact: bool = True


@dataclass(slots=True)
class CallRecord:
    """The callees of one operation, collected over its executions in this context."""

    callees: dict[int, None] = field(default_factory=dict)
    certain: set[int] = field(default_factory=set)
    """Those of the callees that were called without a condition on parameters that is not known to hold."""
    chosen: set[int] = field(default_factory=set)
    """The same, where the call has several functions to choose from: its arguments may be for another one."""
    library: dict[str, None] = field(default_factory=dict)
    unknown: str | None = None
    open_size: OpenDim | None = None

    def finished(self) -> RecordedCall:
        """The result when the context has run."""
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
    """One function analysed for one tuple of arguments, in any state in which `reads` hold and nothing of `absent` exists."""

    identity: int
    function: Function
    entry: EntryKind
    in_graph: bool
    parameters: Mapping[str, Value]
    reads: Mapping[HeapKey, Value | None]
    absent: frozenset[HeapKey]
    """The `EXISTS` of objects that must not exist outside."""
    writes: Mapping[HeapKey, Value]
    """To objects that outlive the call, and to new objects that the result or such an object leads to."""
    returns: Value
    contents: Value
    """Returned values, with the contents of lists and dicts."""
    effects: tuple[Effect, ...]
    allocated: frozenset[ObjectId]
    state_reads: Mapping[HeapKey, tuple[EffectSite, tuple[EffectSite, ...]]]
    overwrites: frozenset[str]
    """The attributes that it writes on all paths before it reads them: their earlier values do not matter."""
    holders: Mapping[ObjectId, frozenset[FieldKey]]
    """The fields that hold the containers which it reads or changes."""
    stale_reads: frozenset[StaleRead]
    """The reads of its callees after which the same state is written again."""
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
    log: Log | None = None
    """Log of its queries and reports, if summaries are kept for another run and this one can be."""
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
        "effects",
        "entered",
        "entry",
        "exits",
        "failures",
        "finals",
        "first_ends",
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
        """The arguments of the present call that are arrays whose content a callee has changed."""
        self.earlier_values: dict[OpId, list[Value]] = {}
        """The results of an operation in earlier iterations of an unrolled loop, and on other paths through a `finally` block."""
        self.cells: dict[str, ObjectId] = {}
        self.class_object: ObjectId | None = None
        """In a class body: the object whose attributes its names become."""
        self.class_annotations: dict[str, Value] = {}
        """In a class body: the annotated names, in order."""
        self.advanced = False
        """Whether it takes some elements of an iterator and leaves others: the remaining number is then unknown."""
        self.loop_lengths: dict[OpId, Dim] = {}
        """The number of iterations of each `for`, if it is known and always the same."""
        self.first_ends: dict[OpId, dict[str, Value]] = {}
        """The variables after the first iteration of each loop that ran last."""
        self.loops: list[LoopFrame] = []
        self.handlers: list[tuple[State, list[State]]] = []
        """For each enclosing `try`: the state it forks from, and the states in which its body raises."""
        self.finals: list[FinalFrame] = []
        self.collectors: list[Collector] = []
        self.returns: list[tuple[Value, State]] = []
        self.yields: Value = BOTTOM
        self.iteration: tuple[int, ...] = ()
        """Which iteration of each enclosing unrolled loop."""
        self.repeated = 0
        """The number of enclosing final blocks that ran before, for another exit."""
        self.exits = 0
        """The number of times that control left by `return`, `break` or `continue`, or was caught."""
        self.alternatives = 0
        """The number of enclosing calls with several possible callees: a failure in one of them may not happen."""
        self.conditions = 0
        """The number of entered branches whose conditions depend on parameters and are not known to be true."""
        self.doubt = 0
        """The number of entered branches of the innermost unrolled loop (or of the function) whose condition is unknown."""
        self.gradients = 0
        """The depth of nested gradients of `tf.custom_gradient` functions."""
        self.uncertainty = 0
        """The number of enclosing branches and loops that may not run, or run an unknown number of times."""
        self.allocated: set[ObjectId] = set()
        self.makers: dict[OpId, dict[ObjectId, tuple[int, ...]]] = {}
        """The objects that each operation has made, and in which iteration."""
        self.arrivals: dict[FunctionId, dict[str, dict[Value, None]]] = {}
        """The arguments that its calls pass to each function."""
        self.effects: dict[tuple[object, ...], Effect] = {}
        self.calls: dict[OpId, CallRecord] = {}
        self.branches: dict[OpId, BranchFact] = {}
        self.failures: dict[OpId, FailureFact] = {}
        self.guarded_failures: dict[OpId, FailureFact] = {}
        self.state_reads: dict[HeapKey, tuple[EffectSite, tuple[EffectSite, ...]]] = {}
        self.reading_calls: list[tuple[OpId, Summary, Naming]] = []
        """The calls that read state which outlives them, in order."""
        self.writes_at: dict[HeapKey, dict[tuple[OpId, EffectSite], None]] = {}
        """The operations that write state, and the places of the writes: here or in callees."""
        self.made: list[FunctionValue] = []
        """The nested functions that it defines."""
        self.entered: dict[int, None] = {}
        """The contexts in which these were entered, if they have no callers."""
        self.abstract = False
        """It raises NotImplementedError somewhere, so a subclass determines its result."""
        self.problem: str | None = None
        self.provoked = 0
        """The number of enclosing `with` statements that expect an exception, as in tests."""
        self.sites: dict[OpId, EffectSite] = {}
        """The positions of operations, as far as they were requested."""
        self.steps = 0
        self.max_steps = max(MAX_STEPS_OF_A_FRAME, STEPS_OF_LONG_CODE * function.op_count)

    def note_made(self, op: OpId, number: ObjectId) -> None:
        """Records that an operation of this call has made an object."""
        self.allocated.add(number)
        self.makers.setdefault(op, {})[number] = self.iteration

    def rename(self, number: ObjectId, mapping: Mapping[ObjectId, ObjectId]) -> None:
        """Renames an object in the results and writes of this path so far."""
        values = self.values
        for op, value in enumerate(values):
            if value is not None and names_object(value, number):
                values[op] = rename(value, mapping)
        for collector in self.collectors:
            collector.elements = [
                (None if key is None else rename(key, mapping), rename(value, mapping))
                for key, value in collector.elements
            ]
        self.yields = rename(self.yields, mapping)

    @contextmanager
    def apart(self, index: int) -> Iterator[None]:
        """One of several calls that an operation makes in sequence, as `map` does: the objects that each creates have names of their
        own."""
        doubt = self.doubt
        self.iteration, self.doubt = (*self.iteration, index), 0
        try:
            yield
        finally:
            self.iteration, self.doubt = self.iteration[:-1], doubt

    def site(self, op: OpId) -> EffectSite:
        """Where operation `op` is, for an effect."""
        site = self.sites.get(op)
        if site is None:
            identity = self.function.id
            site = self.sites[op] = EffectSite(identity.module, identity.index, op)
        return site

    def value(self, op: OpId | None) -> Value:
        """The result of an operation that has run on this path."""
        value = None if op is None else self.values[op]
        return BOTTOM if value is None else value

    def note_read(self, op: OpId, key: HeapKey) -> None:
        """Records where state that outlives the call is read."""
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

    def final_values(self) -> tuple[Value | None, ...]:
        """The result of each operation, joined over all iterations of unrolled loops and all paths through `finally` blocks."""
        for op, earlier in self.earlier_values.items():
            value = self.values[op]
            self.values[op] = join_all([*earlier, value] if value is not None else earlier)
        return tuple(self.values)

    def add_effect(self, effect: Effect) -> None:
        """Records an effect; of several that differ only in the way to them, the first is kept."""
        key = (effect.kind, effect.target.object, effect.target.path, effect.site)
        known = self.effects.get(key)
        if known is None:
            if len(self.effects) < MAX_EFFECTS:
                self.effects[key] = effect
            elif len(self.effects) == MAX_EFFECTS:
                # those that were kept may be excused where they are looked at, and this one not
                more = f"{self.function.qualname} (more than {MAX_EFFECTS} side effects)"
                self.effects[EffectKind.UNKNOWN_CALL, "more"] = Effect(
                    EffectKind.UNKNOWN_CALL, Target(RootKind.EXTERNAL, ""), more, effect.site, effect.via
                )
        elif (known.assumed and not effect.assumed) or (effect.keeps_tensor and not known.keeps_tensor):
            self.effects[key] = effect
