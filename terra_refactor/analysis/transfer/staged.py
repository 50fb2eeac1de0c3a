"""Branches and loops that become part of a graph: the values of the variables that they set.

Computes: symbolic values, sizes that are open after a staged branch or loop. Needs: states. Gives: functions for `branches` and `loops`,
`note_branch`, `changed_variables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.chosen import chosen_in_graph, symbolic, with_axis_open
from terra_refactor.domain.dim import definitely_different
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import CELL, HeapKey, State
from terra_refactor.domain.value import (
    UNBOUND,
    Reference,
    TensorValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Block
from terra_refactor.ir.walk import walk

MAX_CHANGES: Final = 64
"""Maximum number of recorded variable changes for a branch that runs several times (the first ones are kept)."""


def variables_set(block: Block) -> set[str]:
    """The variables that a block sets."""
    return {inner.name for inner in walk(block) if isinstance(inner, ops.StoreName)}


def differing_variables(ends: Sequence[State]) -> set[str]:
    """The variables that differ between the paths to the end of an iteration."""
    return {name for end in ends[1:] for name, _, _ in changed_variables(ends[0].locals, end.locals)}


def make_symbolic(state: State, names: Iterable[str]) -> None:
    """The Python values set under a condition or in a loop on a tensor: in a graph AutoGraph converts them to tensors."""
    for name in names:
        value = state.locals.get(name)
        if value is not None:
            state.locals[name] = symbolic(value)


def make_fields_symbolic(frame: Frame, state: State, block: Block) -> None:
    """The same for variables that nested functions capture, and for attributes of objects that the call has created."""
    keys: dict[HeapKey, None] = {}
    for inner in walk(block):
        if isinstance(inner, ops.StoreName) and inner.scope is ops.Scope.CELL:
            keys[(frame.cells[inner.name], CELL)] = None
        elif isinstance(inner, ops.StoreAttribute):
            for owner in members(frame.value(inner.object)):
                if isinstance(owner, Reference) and owner.object in frame.allocated:
                    keys[(owner.object, inner.name)] = None
    for key in keys:
        value = state.get(key)
        if value is not None:
            state.set(key, symbolic(value))


def merge_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors chosen by a condition on a tensor: not constant, and without a static size where the alternatives differ."""
    for name, first, second in changed:
        value = state.locals.get(name)
        if value is not None and UNBOUND not in (first, second):
            state.locals[name] = chosen_in_graph(value)


def grow_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors whose sizes change in an iteration of the graph's loop: after the loop these sizes are not static."""
    for name, first, before in changed:
        value, sizes = (
            state.locals.get(name),
            [each.type.shape for each in (first, before) if isinstance(each, TensorValue)],
        )
        if value is None or len(sizes) < 2 or sizes[0] is None or sizes[1] is None or len(sizes[0]) != len(sizes[1]):
            continue
        grown = [axis for axis, pair in enumerate(zip(*sizes, strict=True)) if definitely_different(*pair)]
        for axis in grown:
            value = join_all(
                with_axis_open(member, axis) if isinstance(member, TensorValue) else member for member in members(value)
            )
        state.locals[name] = value


def note_branch(frame: Frame, fact: BranchFact) -> None:
    """Records the facts about a branch, joined over all its runs."""
    known = frame.branches.get(fact.op)
    if known is not None:
        strongest = known.kind if known.kind in (BranchKind.TENSOR, BranchKind.DATASET) else fact.kind
        fact = BranchFact(
            fact.op,
            strongest,
            (known.taken[0] or fact.taken[0], known.taken[1] or fact.taken[1]),
            (known.falls_through[0] or fact.falls_through[0], known.falls_through[1] or fact.falls_through[1]),
            tuple(dict.fromkeys((*known.changed, *fact.changed)))[:MAX_CHANGES],
        )
    frame.branches[fact.op] = fact


def changed_variables(first: dict[str, Value], second: dict[str, Value]) -> tuple[tuple[str, Value, Value], ...]:
    """The local variables that differ between two states."""
    names = dict.fromkeys([*first, *second])
    return tuple(
        (name, first.get(name, UNBOUND), second.get(name, UNBOUND))
        for name in names
        if first.get(name, UNBOUND) != second.get(name, UNBOUND)
    )
