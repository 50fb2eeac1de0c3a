"""The state of abstract execution: local variables and the heap, along one path.

Computes: forks and merges of states. Needs: the lattice. Gives: `State`, which is mutable and lives only while a
function is interpreted (facts are frozen copies of its content). A state is a chain of deltas: a fork holds only the
writes since the fork, and reads through to its parent. The boundary of a call (`State.call`) also records reads of
outside state, with their values: the heap dependencies of the call's summary, which decide whether it is valid in
another state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from terra_refactor.domain.lattice import join, references, rename, widen, without_unbound
from terra_refactor.domain.traced import seen_inside
from terra_refactor.domain.value import (
    BOTTOM,
    UNBOUND,
    Constant,
    FrozenDict,
    ObjectId,
    Reference,
    Unbound,
    Value,
    members,
)

HeapKey: TypeAlias = tuple[ObjectId, str]
"""An object and one of its fields: an attribute's name, or one of the marks below."""

EXISTS = "@"
"""Field that every object has from its allocation: `TRUE` while it represents one object, `FALSE` once it may represent
several, `UNBOUND` while it represents none, because its object has been renamed.
"""
CLASS = "__class__"
BASES = "__bases__"
"""Field of a class: its bases, as a tuple."""
VIRTUAL = "@virtual"
"""Field of a class: other classes may be registered as its subclasses."""
ITEMS = "[]"
DEFAULT_FACTORY = "default_factory"
"""Content of a list, dict or set, as `FrozenList`, `FrozenDict` or `SequenceValue`."""
CELL = "cell"
"""Content of a captured variable."""
AS_TENSOR = "@tensor"
"""The tensor to which libraries convert an object."""
ANY_NAME = "*"
"""Values written to attributes of an object under unknown names, as `FrozenDict`: by the known prefix of the names, and
`rest` if there is none. Any attribute with such a name may hold the value.
"""


class SettledHeap:
    """Fields that no longer change: calls need not record their reads of them, and a lookup skips the chain of states.

    After the modules have run these are the globals that no function assigns, and the attributes of classes.
    """

    __slots__ = (
        "fields",
        "first_fields",
        "first_objects",
        "latest_orders",
        "objects",
        "orders",
        "with_any_name",
        "written",
    )

    def __init__(self) -> None:
        self.with_any_name: set[ObjectId] = set()
        """The objects that have an `ANY_NAME` in some state: lookups of others do not ask for it."""
        self.fields: dict[HeapKey, Value] = {}
        self.objects: set[ObjectId] = set()
        """Objects all of whose fields are settled: fields missing in `fields` are not set, except for those of `written`."""
        self.written: set[HeapKey] = set()
        """Fields that functions have written after all: they are not settled."""
        self.first_fields: Mapping[HeapKey, Value] = self.fields
        self.first_objects: Set[ObjectId] = self.objects
        """Both as they were before functions wrote settled fields."""
        self.orders: dict[ObjectId, tuple[Value, ...]] = {}
        """The method resolution orders of settled classes, computed on request."""
        self.latest_orders: dict[ObjectId, tuple[tuple[Value, ...], tuple[tuple[Value, tuple[Value, ...]], ...]]] = {}
        """The method resolution orders of other classes, with the bases of each class for which they are valid."""

    def has(self, key: HeapKey) -> bool:
        """Whether a field is settled."""
        return key in self.fields or (key[0] in self.objects and key not in self.written)

    def unsettle(self, key: HeapKey) -> Set[HeapKey]:
        """Notes that a function writes a settled field. Returns the fields that are no longer settled."""
        self.fields = {kept: value for kept, value in self.fields.items() if kept != key}
        self.written.add(key)
        return {key}

    def unsettle_all(self, number: ObjectId) -> Set[HeapKey]:
        """The same for a write to unknown fields of an object, or to its bases: all its fields, and what decides where those of its
        subclasses are looked up. Returns only the latter.
        """
        of_subclasses = {(cls, BASES) for cls, order in self.orders.items() if Reference(number) in order}
        self.fields = {kept: value for kept, value in self.fields.items() if kept[0] != number}
        self.objects = self.objects - {number}
        self.orders.clear()
        return {(number, BASES), *of_subclasses}


class Naming:
    """The callee's names for the objects that it reaches, so that its summary is also valid for other objects.

    Objects that it receives are named by stand-ins (`given`). A stand-in of its caller that it reaches through the
    heap is shifted by one level, to keep the two apart. The same holds for an object that its own operations created
    in an outer call of it (`callee`); all other objects keep their names.
    """

    __slots__ = ("given", "names", "outer", "own")

    def __init__(self, given: Mapping[ObjectId, ObjectId], names: LevelNames, callee: Hashable) -> None:
        self.given = given
        self.names = names
        self.outer = {inner: actual for actual, inner in given.items()}
        self.own = names.own.setdefault(callee, set())
        """The names of the objects that the callee's operations create."""

    def inward(self, value: Value) -> Value:
        """A caller's value in the callee's names and view."""
        return self.named(seen_inside(value))

    def named(self, value: Value) -> Value:
        """A caller's value in the callee's names."""
        if type(value) is Reference:
            number = self.inward_object(value.object)
            return value if number == value.object else Reference(number)
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
        """Whether the name is one for objects that the callee itself creates; no outer object has it."""
        return number in self.own and number not in self.names.closer


class LevelNames:
    """The names that are relative to a call: stand-ins, also shifted by one or more levels; and objects created by a
    function's operations.
    """

    __slots__ = ("all", "closer", "make", "make_further", "own", "unshifted")

    def __init__(self, make: Callable[[ObjectId], ObjectId], make_further: Callable[[ObjectId], ObjectId]) -> None:
        self.make, self.make_further = make, make_further
        """Each creates the number of a name shifted by one level."""
        self.all: set[ObjectId] = set()
        self.unshifted: dict[ObjectId, ObjectId] = {}
        self.own: dict[Hashable, set[ObjectId]] = {}
        """The names of objects that each function's operations create, in any call of it."""
        self.closer: dict[ObjectId, ObjectId] = {}
        """For objects created in an outer call of the function: their names one such call further out."""

    def shifted(self, number: ObjectId) -> ObjectId:
        """The name, seen from one call further in."""
        further = self.make(number)
        self.all.add(further)
        self.unshifted[further] = number
        return further

    def further_out(self, number: ObjectId, own: set[ObjectId]) -> ObjectId:
        """The name of an object created by a function's operations, as seen from an inner call of that function."""
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
        """The number of states visited by a lookup of a missing field."""
        self.settled: SettledHeap = SettledHeap() if parent is None else parent.settled
        self.heap: dict[HeapKey, Value] = {}
        self.locals = variables
        self.reads = reads
        self.absent: dict[HeapKey, None] = {}
        """At the boundary of a call: the `EXISTS` of each outer object that was looked up and does not exist; it has no
        fields.
        """
        self.fixed: dict[HeapKey, None] = {}
        """At the boundary of a call: the settled fields that it read."""
        self.naming = naming
        """At the boundary of a call: the callee's names of the objects that it reaches."""

    def fork(self) -> State:
        """A state that starts as a copy of this one; its writes reach this one only by `merge`."""
        return State(self, self.locals.copy(), None)

    def call(self, naming: Naming | None = None) -> State:
        """The state in which a callee starts: no locals, the heap read through a recording boundary."""
        return State(self, {}, {}, naming)

    def get(self, key: HeapKey) -> Value | None:
        """The field's value; None if it was never written on this path."""
        if key[0] in self.settled.with_any_name:
            return self._get_by_any_name(key)
        state: State | None = self
        while state is not None:
            heap = state.heap
            if heap:
                value = heap.get(key)
                if value is not None:
                    return value
            if state.reads is not None:
                return state._from_outside(key)
            state = state.parent
        return None

    def _get_by_any_name(self, key: HeapKey) -> Value | None:
        """`get` for an object some of whose attributes were written under unknown names."""
        state: State | None = self
        any_name = (key[0], ANY_NAME)
        unnamed: Value | None = None
        value: Value | None = None
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
        # that write changed what the call knows about the object, which is detected only now
        for name, written in () if unnamed is None else written_to_any(unnamed):
            if may_be_named(key[1], name):
                value = join(UNBOUND if value is None else value, written)
        return value

    def _from_outside(self, key: HeapKey) -> Value | None:
        """At the boundary of a call: its caller's value, recorded as a read."""
        reads, settled, naming = self.reads, self.settled, self.naming
        assert reads is not None
        value = reads.get(key)
        if value is not None:
            return value
        value = settled.fields.get(key)
        if value is not None or (key[0] in settled.objects and key not in settled.written):
            self.fixed[key] = None
            return value
        if key in reads:
            return None
        existence = (key[0], EXISTS)
        if existence in self.absent:
            return None
        if naming is not None and naming.is_own(key[0]):
            return None
        if self.parent is not None:
            value = read_across(self.parent, key, naming)
        if value is None and key[1] == EXISTS and (naming is None or key[0] not in naming.names.all):
            self.absent[existence] = None
        else:
            reads[key] = value
        return value

    def note_fixed(self, key: HeapKey) -> None:
        """Records a read of a settled field at the boundary of the present call."""
        state = self
        while state.reads is None and state.parent is not None:
            state = state.parent
        state.fixed[key] = None

    def has_none_of(self, absent: Set[HeapKey]) -> bool:
        """Whether none of these objects (given by `EXISTS`) exists in its heap. Only valid for an outermost state."""
        return self.heap.keys().isdisjoint(absent)

    def set(self, key: HeapKey, value: Value) -> None:
        """Writes a field."""
        if key[1] == ANY_NAME:
            self.settled.with_any_name.add(key[0])
        self.heap[key] = value

    def flattened(self, ancestor: State) -> State:
        """A direct fork of `ancestor` with all writes between the two."""
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
        """Continues as the join of `branches`, direct forks of this state."""
        if len(branches) == 1:
            self.adopt(branches[0])
            return
        combine = widen if widening else join
        keys = dict.fromkeys(key for branch in branches for key in branch.heap)
        merged_heap: dict[HeapKey, Value] = {}  # not in place: the branches still read through to this state
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
        """Whether this state is an upper bound of `newer`, a direct fork of it."""
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
    """From the content of `ANY_NAME`: prefixes of names, each with the possible values of attributes with that prefix."""
    for member in members(content):
        if isinstance(member, FrozenDict):
            for name, value in member.items:
                if isinstance(name, Constant):
                    yield str(name.value), without_unbound(value)
            if member.rest is not None and member.rest != BOTTOM:
                yield "", member.rest


def may_be_named(field: str, beginning: str) -> bool:
    """Whether a field is an attribute whose name starts with `beginning`."""
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
    """The read at which the last comparison of a summary's reads failed: the next comparison starts there, since most
    fail at the same read.
    """

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: HeapKey | None = None


def same_reads(
    state: State,
    reads: Mapping[HeapKey, Value | None],
    absent: Set[HeapKey],
    naming: Naming | None,
    suspect: Suspect | None = None,
    others: Comparisons | None = None,
) -> bool:
    """Whether every recorded read gives the same value in `state`, for a call with this naming, and absent objects are
    still absent. Reads of an object that this call does not pass belong to another call, and are ignored. A failed
    comparison records no reads: nothing depends on an invalid summary. `others` are the comparisons with other
    summaries in this state.
    """
    if absent and _is_one_here(state, absent):
        return False
    comparisons = Comparisons(state, naming) if others is None else others
    doubtful = None if suspect is None else suspect.key
    if doubtful is not None and doubtful in reads and comparisons.differs(doubtful, reads[doubtful]):
        return False
    marks = comparisons.marks()
    for key, value in tuple(reads.items()):  # a running context may read while it is compared
        if naming is not None and naming.outward_object(key[0]) is None:
            continue
        current = read_across(state, key, naming)
        if current is not value and current != value:
            forget_since(marks)
            if suspect is not None:
                suspect.key = key
            return False
    if not still_absent(state, absent):
        forget_since(marks)
        return False
    return True


def note_difference(state: State, reads: Mapping[HeapKey, Value | None], naming: Naming | None) -> bool:
    """Records only the first of these reads that gives another value in `state`; returns whether there is one."""
    marks = marks_of(state)
    for key, value in tuple(reads.items()):
        if (naming is None or naming.outward_object(key[0]) is not None) and read_across(state, key, naming) != value:
            forget_since(marks)
            read_across(state, key, naming)
            return True
    forget_since(marks)
    return False


class Comparisons:
    """The comparisons of several summaries with one state, for a call with one naming."""

    __slots__ = ("_marks", "_naming", "_seen", "_state")

    def __init__(self, state: State, naming: Naming | None) -> None:
        self._state, self._naming = state, naming
        self._marks: list[tuple[State, int, int]] | None = None
        self._seen: dict[HeapKey, Value | None] = {}

    def marks(self) -> list[tuple[State, int, int]]:
        """The recorded reads before these comparisons, which a failed one restores."""
        if self._marks is None:
            self._marks = marks_of(self._state)
        return self._marks

    def differs(self, key: HeapKey, value: Value | None) -> bool:
        """Whether a read of an object that this call passes gives another value. It is not recorded: reads are recorded in
        their own order.
        """
        if key not in self._seen:
            if self._naming is not None and self._naming.outward_object(key[0]) is None:
                return False
            marks = self.marks()
            self._seen[key] = read_across(self._state, key, self._naming)
            forget_since(marks)
        return self._seen[key] != value


def _is_one_here(state: State, absent: Set[HeapKey]) -> bool:
    """Whether one of these objects certainly exists: the cheapest test, which rejects most invalid summaries."""
    level: State | None = state
    while level is not None and absent:
        if not level.heap.keys().isdisjoint(absent):
            return True
        if level.absent:
            absent = absent - level.absent.keys()
        level = level.parent
    return False


def marks_of(state: State) -> list[tuple[State, int, int]]:
    """The call boundaries around a state, each with the number of its recorded reads."""
    marks: list[tuple[State, int, int]] = []
    level: State | None = state
    while level is not None:
        if level.reads is not None:
            marks.append((level, len(level.reads), len(level.absent)))
        level = level.parent
    return marks


def forget_since(marks: list[tuple[State, int, int]]) -> None:
    """Removes the reads that boundaries recorded since `marks`."""
    for boundary, reads, absent in marks:
        assert boundary.reads is not None
        while len(boundary.reads) > reads:
            boundary.reads.popitem()
        while len(boundary.absent) > absent:
            boundary.absent.popitem()


def still_absent(state: State, absent: Set[HeapKey]) -> bool:
    """Whether none of the objects of which `absent` has the `EXISTS` exists in `state`; the dependencies of the answer
    are recorded as reads.

    These objects keep their names in every call, so no name is translated on return.
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
