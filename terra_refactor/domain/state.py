"""The state of abstract execution: local variables and the heap, along one path.

Computes: forks and merges of states. Needs: the lattice. Gives: `State`, which is mutable and lives only while a function is interpreted
(facts are frozen copies of its content). A state is a chain of deltas: a fork holds only the writes since the fork, and reads through to
its parent. The boundary of a call (`State.call`) also records reads of outside state, with their values: these are the dependencies of
the call's summary on the heap, which decide whether the summary is valid in another state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from terra_refactor.domain.lattice import join, references, rename, widen, without_unbound
from terra_refactor.domain.traced import seen_inside
from terra_refactor.domain.value import BOTTOM, UNBOUND, Constant, FrozenDict, ObjectId, Unbound, Value, members

HeapKey: TypeAlias = tuple[ObjectId, str]
"""An object and one of its fields: an attribute's name, or one of the marks below."""

EXISTS = "@"
"""Field that every object has from its allocation: `TRUE` while it represents one object, `FALSE` once it may represent several,
`UNBOUND` while it represents none, because its object has another name now."""
CLASS = "__class__"
VIRTUAL = "@virtual"
"""Field of a class: others may count as derived from it."""
ITEMS = "[]"
DEFAULT_FACTORY = "default_factory"
"""Content of a list, dict or set, as `FrozenList`, `FrozenDict` or `SequenceValue`."""
CELL = "cell"
"""Content of a captured variable."""
AS_TENSOR = "@tensor"
"""The tensor that libraries convert an object to."""
ANY_NAME = "*"
"""Values written to attributes of an object under unknown names, as `FrozenDict`: by how these names begin, and `rest` where
that is not known either. Any of its attributes of such a name may hold it."""


class SettledHeap:
    """Fields that no longer change: a call's reads of them need not be recorded, nor looked for along the chain.

    After the modules have run these are the globals that no function assigns, and the attributes of classes.
    """

    __slots__ = ("fields", "latest_orders", "noted", "objects", "orders")

    def __init__(self) -> None:
        self.noted = False
        """Whether calls record their reads of this, so that their summaries can be kept for another run of the analysis."""
        self.fields: dict[HeapKey, Value] = {}
        self.objects: set[ObjectId] = set()
        """Objects of which every field is settled: fields missing in `fields` are not set."""
        self.orders: dict[ObjectId, tuple[Value, ...]] = {}
        """The method resolution orders of settled classes, as far as they were requested."""
        self.latest_orders: dict[ObjectId, tuple[tuple[Value, ...], tuple[tuple[Value, tuple[Value, ...]], ...]]] = {}
        """Those of classes that are not settled, with the bases of each class for which they hold."""


class Naming:
    """The callee's names for the objects that it reaches, so that its summary is also valid for other objects.

    Objects that it receives are named by stand-ins (`given`). A stand-in of its caller that it reaches through the heap is shifted
    by one level, so that the two are never confused. So is the name of an object that its own operations created in an outer call
    of it (`callee`); all other objects keep their names.
    """

    __slots__ = ("given", "names", "outer", "own")

    def __init__(self, given: Mapping[ObjectId, ObjectId], names: LevelNames, callee: Hashable) -> None:
        self.given = given
        self.names = names
        self.outer = {inner: actual for actual, inner in given.items()}
        self.own = names.own.setdefault(callee, set())
        """The names of the objects that the callee's operations create."""

    def inward(self, value: Value) -> Value:
        """A caller's value, in the callee's names and as it sees it."""
        return self.named(seen_inside(value))

    def named(self, value: Value) -> Value:
        """A caller's value, in the callee's names."""
        found = references(value)
        if not found or (
            found.isdisjoint(self.given) and found.isdisjoint(self.names.all) and found.isdisjoint(self.own)
        ):
            return value
        return rename(value, {number: self.inward_object(number) for number in found})

    def inward_object(self, number: ObjectId) -> ObjectId:
        """The callee's name of an object of its caller."""
        inner = self.given.get(number)
        if inner is not None:
            return inner
        if number in self.names.all:
            return self.names.shifted(number)
        return self.names.further_out(number, self.own) if number in self.own else number

    def outward_object(self, number: ObjectId) -> ObjectId | None:
        """The caller's name of an object of its callee; None for a stand-in that this call does not pass, and for objects that the
        callee creates itself."""
        actual = self.outer.get(number)
        if actual is not None:
            return actual
        if number in self.names.all:
            return self.names.unshifted.get(number)
        return self.names.closer.get(number) if number in self.own else number

    def is_own(self, number: ObjectId) -> bool:
        """Whether the callee makes the object of that name itself: none outside has it."""
        return number in self.own and number not in self.names.closer


class LevelNames:
    """The names that are relative to a call: stand-ins, also shifted by one or more levels; and objects that a function's operations
    create."""

    __slots__ = ("all", "closer", "make", "make_further", "own", "unshifted")

    def __init__(self, make: Callable[[ObjectId], ObjectId], make_further: Callable[[ObjectId], ObjectId]) -> None:
        self.make, self.make_further = make, make_further
        """Each makes the number of a name shifted by one level."""
        self.all: set[ObjectId] = set()
        self.unshifted: dict[ObjectId, ObjectId] = {}
        self.own: dict[Hashable, set[ObjectId]] = {}
        """The names of objects that each function's operations create, in any call of it."""
        self.closer: dict[ObjectId, ObjectId] = {}
        """Of those that a call further out has made: their names one call of that function further out."""

    def shifted(self, number: ObjectId) -> ObjectId:
        """The name, seen from one call further in."""
        further = self.make(number)
        self.all.add(further)
        self.unshifted[further] = number
        return further

    def further_out(self, number: ObjectId, own: set[ObjectId]) -> ObjectId:
        """The name of an object that a function's operations created, seen from an inner call of that function."""
        further = self.make_further(number)
        own.add(further)
        self.closer[further] = number
        return further


class State:
    """Local variables and heap on one path of execution."""

    __slots__ = ("absent", "depth", "fixed", "heap", "locals", "naming", "parent", "reads", "settled")

    def __init__(
        self,
        parent: State | None,
        variables: dict[str, Value],
        reads: dict[HeapKey, Value | None] | None,
        naming: Naming | None = None,
    ) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        """The number of states that a look-up of a missing field visits."""
        self.settled: SettledHeap = SettledHeap() if parent is None else parent.settled
        self.heap: dict[HeapKey, Value] = {}
        self.locals = variables
        self.reads = reads
        self.absent: dict[HeapKey, None] = {}
        """At the boundary of a call: the `EXISTS` of each object that was looked up outside and does not exist, and has no fields."""
        self.fixed: dict[HeapKey, None] = {}
        """At the boundary of a call: the settled fields that it read, if that is noted (`SettledHeap.noted`)."""
        self.naming = naming
        """At the boundary of a call: the callee's names of the objects that it reaches."""

    def fork(self) -> State:
        """A state that starts as this one and whose writes do not reach this one until they are merged."""
        return State(self, self.locals.copy(), None)

    def call(self, naming: Naming | None = None) -> State:
        """The state in which a callee starts: no locals, the heap read through a recording boundary."""
        return State(self, {}, {}, naming)

    def get(self, key: HeapKey) -> Value | None:
        """The field's value, or None if it was never written on this path."""
        state: State | None = self
        any_name = (key[0], ANY_NAME)
        unnamed: Value | None = None
        while state is not None:
            heap = state.heap
            value = heap.get(key)
            if value is not None:
                return value
            if unnamed is None and any_name in heap:
                unnamed = heap[any_name]
            if state.reads is not None:
                value = state._from_outside(key)
                break
            state = state.parent
        # the call's knowledge of the object changed with that write; this is seen only now
        for name, written in () if unnamed is None else written_to_any(unnamed):
            if may_be_named(key[1], name):
                value = join(UNBOUND if value is None else value, written)
        return value

    def _from_outside(self, key: HeapKey) -> Value | None:
        """At the boundary of a call: its caller's value, recorded as a read."""
        assert self.reads is not None
        settled = self.settled
        if key in settled.fields:
            if settled.noted:
                self.fixed[key] = None
            return settled.fields[key]
        if key[0] in settled.objects:
            if settled.noted:
                self.fixed[key] = None
            return None
        if key in self.reads:
            return self.reads[key]
        existence = (key[0], EXISTS)
        if existence in self.absent:
            return None
        if self.naming is not None and self.naming.is_own(key[0]):
            return None
        value = None
        if self.parent is not None:
            value = read_across(self.parent, key, self.naming)
        if value is None and key[1] == EXISTS and (self.naming is None or key[0] not in self.naming.names.all):
            self.absent[existence] = None
        else:
            self.reads[key] = value
        return value

    def has_none_of(self, absent: Set[HeapKey]) -> bool:
        """Whether objects without `EXISTS` in its heap do not exist. Only valid for an outermost state."""
        return self.heap.keys().isdisjoint(absent)

    def set(self, key: HeapKey, value: Value) -> None:
        """Writes a field."""
        self.heap[key] = value

    def flattened(self, ancestor: State) -> State:
        """A direct fork of `ancestor` with all writes between it and this state."""
        if self.parent is ancestor:
            return self
        chain: list[State] = []
        state: State = self
        while state is not ancestor:
            chain.append(state)
            assert state.parent is not None, "the ancestor is not on the chain"
            state = state.parent
        flat = State(ancestor, self.locals, None)
        for delta in reversed(chain):
            flat.heap.update(delta.heap)
        return flat

    def adopt(self, branch: State) -> None:
        """Continues as `branch`, a direct fork of this state."""
        self.heap.update(branch.heap)
        self.locals = branch.locals

    def merge(self, branches: Sequence[State], *, widening: bool = False) -> None:
        """Continues as any of `branches`, direct forks of this state."""
        if len(branches) == 1:
            self.adopt(branches[0])
            return
        combine = widen if widening else join
        keys = dict.fromkeys(key for branch in branches for key in branch.heap)
        merged_heap: dict[HeapKey, Value] = {}  # separate: the branches still read through to this state
        for key in keys:
            merged: Value | None = None
            for branch in branches:
                value = branch.heap.get(key)
                if value is None:
                    value = self.get(key)
                if value is None or type(value) is Unbound:
                    # an object that does not exist on that path has no fields there
                    if key[1] == EXISTS or not is_there(branch.get((key[0], EXISTS))):
                        continue
                    value = UNBOUND
                merged = value if merged is None else combine(merged, value)
            merged_heap[key] = UNBOUND if merged is None else merged
        self.heap.update(merged_heap)
        first = branches[0].locals
        variables: dict[str, Value] = {}
        names = dict.fromkeys(name for branch in branches for name in branch.locals)
        for name in names:
            value = first.get(name, UNBOUND)
            for branch in branches[1:]:
                other = branch.locals.get(name, UNBOUND)
                if other is not value:
                    value = combine(value, other)
            variables[name] = value
        self.locals = variables

    def covers(self, newer: State) -> bool:
        """Whether this state already covers `newer`, a direct fork of it."""
        for name, value in newer.locals.items():
            old = self.locals.get(name)
            if old is not value and (old is None or join(old, value) != old):
                return False
        for key, value in newer.heap.items():
            old = self.get(key)
            if old is not value and (old is None or join(old, value) != old):
                return False
        return True


def is_there(exists: Value | None) -> bool:
    """Whether the `EXISTS` of an object means that it represents some object."""
    return exists is not None and type(exists) is not Unbound


def written_to_any(content: Value) -> Iterator[tuple[str, Value]]:
    """For the content of `ANY_NAME`: the prefix of a name, and the possible values of attributes with such a name."""
    for member in members(content):
        if isinstance(member, FrozenDict):
            for name, value in member.items:
                if isinstance(name, Constant):
                    yield str(name.value), without_unbound(value)
            if member.rest is not None and member.rest != BOTTOM:
                yield "", member.rest


def may_be_named(field: str, beginning: str) -> bool:
    """Whether a field is an attribute whose name begins so."""
    return field.startswith(beginning) and field.isidentifier() and field not in (CLASS, CELL)


def read_across(outside: State, key: HeapKey, naming: Naming | None) -> Value | None:
    """The callee's reads from its caller's state, in the callee's names."""
    if naming is None:
        value = outside.get(key)
        return None if value is None else seen_inside(value)
    number = naming.outward_object(key[0])
    if number is None:
        return None
    value = outside.get((number, key[1]))
    return None if value is None else naming.inward(value)


class Suspect:
    """The read at which a comparison of a summary's reads failed last: the next one begins there, since most fail at the same."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: HeapKey | None = None


def same_reads(
    state: State,
    reads: Mapping[HeapKey, Value | None],
    absent: Set[HeapKey],
    naming: Naming | None,
    suspect: Suspect | None = None,
    marks: list[tuple[State, int, int]] | None = None,
) -> bool:
    """Whether every recorded read gives the same value in `state`, for a call that names objects so, and absent objects still are.
    Reads of an object that this call does not pass concern another call's object, and do not matter. A failed comparison records no
    reads: nothing depends on an invalid summary. `marks` are those of the state, if the caller has them: a failed comparison
    restores them."""
    if absent and _is_one_here(state, absent):
        return False
    doubtful = None if suspect is None else suspect.key
    if (
        doubtful is not None
        and doubtful in reads
        and (naming is None or naming.outward_object(doubtful[0]) is not None)
    ):
        marks = marks_of(state) if marks is None else marks
        differs = read_across(state, doubtful, naming) != reads[doubtful]
        forget_since(marks)  # reads are recorded in their own order
        if differs:
            return False
    for key, value in tuple(reads.items()):  # a running context continues to read while it is compared
        if naming is not None and naming.outward_object(key[0]) is None:
            continue
        if marks is None:
            marks = marks_of(state)
        current = read_across(state, key, naming)
        if current is not value and current != value:
            forget_since(marks)
            if suspect is not None:
                suspect.key = key
            return False
    if not still_absent(state, absent):
        if marks is not None:
            forget_since(marks)
        return False
    return True


def _is_one_here(state: State, absent: Set[HeapKey]) -> bool:
    """Whether one of these objects certainly exists: the quickest test, by which most invalid summaries are recognised."""
    level: State | None = state
    while level is not None and absent:
        if not level.heap.keys().isdisjoint(absent):
            return True
        if level.absent:
            absent = absent - level.absent.keys()
        level = level.parent
    return False


def marks_of(state: State) -> list[tuple[State, int, int]]:
    """The boundaries around a state, each with the number of its records."""
    marks: list[tuple[State, int, int]] = []
    level: State | None = state
    while level is not None:
        if level.reads is not None:
            marks.append((level, len(level.reads), len(level.absent)))
        level = level.parent
    return marks


def forget_since(marks: list[tuple[State, int, int]]) -> None:
    """Removes the reads that boundaries have recorded since."""
    for boundary, reads, absent in marks:
        assert boundary.reads is not None
        while len(boundary.reads) > reads:
            boundary.reads.popitem()
        while len(boundary.absent) > absent:
            boundary.absent.popitem()


def still_absent(state: State, absent: Set[HeapKey]) -> bool:
    """Whether none of the objects of which `absent` has the `EXISTS` exists in `state`; the dependencies of that are recorded as read.

    They are objects that keep their names in every call, so no name is translated on return.
    """
    crossed: list[tuple[State, Set[HeapKey]]] = []
    outermost = state
    level: State | None = state
    while level is not None and absent:
        outermost = level
        if not level.heap.keys().isdisjoint(absent):
            return False
        if level.reads is not None:
            absent = absent - level.absent.keys()
            crossed.append((level, absent))
            if any(number in level.settled.objects for number, _ in absent):
                return False
        level = level.parent
    if absent and not outermost.has_none_of(absent):
        return False
    for boundary, asked in crossed:
        boundary.absent.update(dict.fromkeys(asked))
    return True
