"""The state of abstract execution: local variables and the heap, along one path.

Computes: forks and merges of states. Needs: the lattice. Gives: `State`, which is mutable while a function is interpreted and lives no
longer (facts are frozen copies of what it held).

A state is a chain of deltas: a fork holds only what was written since, and reads through to its parent. The boundary of a call
(`State.call`) also records what was read from outside, with the value seen: that is the dependency of the call's summary on the heap,
and what tells whether the summary holds in another state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from terra_refactor.domain.lattice import join, rename, widen
from terra_refactor.domain.value import UNBOUND, ObjectId, Value

HeapKey: TypeAlias = tuple[ObjectId, str]
"""An object and one of its fields: an attribute's name, or one of the marks below."""

EXISTS = "@"
"""Field that every object has from its allocation: `TRUE` while it stands for one object, `FALSE` once it may stand for several."""
CLASS = "__class__"
ITEMS = "[]"
"""Content of a list, dict or set, as `FrozenList`, `FrozenDict` or `SequenceValue`."""
CELL = "cell"
"""Content of a captured variable."""


class SettledHeap:
    """Fields that no longer change: a call's reads of them need not be recorded, nor looked for along the chain.

    After the modules have run these are the globals that no function assigns, and the attributes of classes.
    """

    __slots__ = ("fields", "objects", "orders")

    def __init__(self) -> None:
        self.fields: dict[HeapKey, Value] = {}
        self.objects: set[ObjectId] = set()
        """Objects of which every field is settled: what `fields` does not have is not set."""
        self.orders: dict[ObjectId, tuple[Value, ...]] = {}
        """The method resolution orders of settled classes, as far as they were asked for."""


class State:
    """Local variables and heap on one path of execution."""

    __slots__ = ("heap", "inward", "locals", "outward", "parent", "reads", "settled")

    def __init__(
        self,
        parent: State | None,
        variables: dict[str, Value],
        reads: dict[HeapKey, Value | None] | None,
        inward: Mapping[ObjectId, ObjectId] | None = None,
    ) -> None:
        self.parent = parent
        self.settled: SettledHeap = SettledHeap() if parent is None else parent.settled
        self.heap: dict[HeapKey, Value] = {}
        self.locals = variables
        self.reads = reads
        self.inward = inward or {}
        """At the boundary of a call: what the callee calls each object that it is given."""
        self.outward = {inner: outer for outer, inner in self.inward.items()} if inward else {}

    def fork(self) -> State:
        """A state that starts as this one and whose writes do not reach this one until they are merged."""
        return State(self, self.locals.copy(), None)

    def call(self, inward: Mapping[ObjectId, ObjectId] | None = None) -> State:
        """The state in which a callee starts: no locals, the heap read through a recording boundary.

        `inward` names the objects that the callee is given: it knows them by these names only, so that its summary holds for others, too.
        """
        return State(self, {}, {}, inward)

    def get(self, key: HeapKey) -> Value | None:
        """The field's value, or None if it was never written on this path."""
        state: State | None = self
        while state is not None:
            value = state.heap.get(key)
            if value is not None:
                return value
            if state.reads is not None:
                settled = state.settled
                if key in settled.fields:
                    return settled.fields[key]
                if key[0] in settled.objects:
                    return None
                if key in state.reads:
                    return state.reads[key]
                value = None
                if state.parent is not None:
                    value = read_across(state.parent, key, state.inward, state.outward)
                state.reads[key] = value
                return value
            state = state.parent
        return None

    def set(self, key: HeapKey, value: Value) -> None:
        """Writes a field."""
        self.heap[key] = value

    def flattened(self, ancestor: State) -> State:
        """A direct fork of `ancestor` with everything written on the way from it to this state."""
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
        for key in keys:
            merged: Value | None = None
            for branch in branches:
                value = branch.heap.get(key)
                if value is None:
                    value = self.get(key)
                if value is None:
                    # an object that does not exist on that path says nothing about its fields
                    if key[1] == EXISTS or branch.get((key[0], EXISTS)) is None:
                        continue
                    value = UNBOUND
                merged = value if merged is None else combine(merged, value)
            if merged is not None:
                self.heap[key] = merged
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
        """Whether `newer`, a direct fork of this state, says nothing that this one does not cover already."""
        for name, value in newer.locals.items():
            old = self.locals.get(name)
            if old is not value and (old is None or join(old, value) != old):
                return False
        for key, value in newer.heap.items():
            old = self.get(key)
            if old is not value and (old is None or join(old, value) != old):
                return False
        return True


def read_across(
    outside: State, key: HeapKey, inward: Mapping[ObjectId, ObjectId], outward: Mapping[ObjectId, ObjectId]
) -> Value | None:
    """What a callee reads from its caller's state, in the callee's names."""
    value = outside.get((outward.get(key[0], key[0]), key[1]))
    if value is None or not inward:
        return value
    return rename(value, inward)


def same_reads(state: State, reads: Mapping[HeapKey, Value | None], inward: Mapping[ObjectId, ObjectId]) -> bool:
    """Whether every recorded read gives the same value in `state`, for a call that names objects by `inward`."""
    outward = {inner: outer for outer, inner in inward.items()}
    for key, value in reads.items():
        current = read_across(state, key, inward, outward)
        if current is not value and current != value:
            return False
    return True
