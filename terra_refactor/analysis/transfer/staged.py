"""Branches and loops that become part of a graph: what AutoGraph makes of the variables that they set.

Computes: symbolic values, sizes that are open behind a staged branch or loop. Needs: states. Gives: functions for `branches` and `loops`,
`note_branch`, `changed_variables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.dim import Why, definitely_different
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import open_axis
from terra_refactor.domain.state import State
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_content_open
from terra_refactor.domain.value import (
    UNBOUND,
    TensorValue,
    Value,
    as_symbolic,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Block
from terra_refactor.ir.walk import walk

MAX_CHANGES: Final = 64
"""Maximum number of variable changes kept for a branch that runs several times (the first ones)."""


def variables_set(block: Block) -> set[str]:
    """The variables that a block sets."""
    return {inner.name for inner in walk(block) if isinstance(inner, ops.StoreName)}


def differing_variables(ends: Sequence[State]) -> set[str]:
    """The variables that differ between the ways to the end of an iteration."""
    return {name for end in ends[1:] for name, _, _ in changed_variables(ends[0].locals, end.locals)}


def make_symbolic(state: State, names: Iterable[str]) -> None:
    """Python values that a condition or loop on a tensor has set: in a graph AutoGraph makes tensors of them."""
    for name in names:
        value = state.locals.get(name)
        if value is not None:
            merged = join_all(as_symbolic(member) for member in members(value))
            state.locals[name] = with_content_open(merged, EVERYWHERE)


def merge_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors that a condition on a tensor chooses: no constant, and of no static size where the two have different ones."""
    for name, first, second in changed:
        value = state.locals.get(name)
        if value is not None and UNBOUND not in (first, second):
            state.locals[name] = chosen_in_graph(value)


def grow_in_graph(state: State, changed: Iterable[tuple[str, Value, Value]]) -> None:
    """Tensors that an iteration of the graph gives other sizes: behind the loop these are not static."""
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
                _with_axis_open(member, axis) if isinstance(member, TensorValue) else member
                for member in members(value)
            )
        state.locals[name] = value


def chosen_in_graph(value: Value) -> Value:
    """One of several values, chosen by a tensor."""
    alternatives = members(value)
    shapes = [member.type.shape for member in alternatives if isinstance(member, TensorValue) and member.type.shape]
    if len(shapes) == len(alternatives) and len({len(shape) for shape in shapes}) == 1:
        for axis, sizes in enumerate(zip(*shapes, strict=True)):
            if any(definitely_different(sizes[0], size) for size in sizes[1:]):
                alternatives = tuple(_with_axis_open(member, axis) for member in alternatives)
    return join_all(alternatives)


def _with_axis_open(value: Value, axis: int) -> Value:
    assert isinstance(value, TensorValue)
    shape = open_axis(value.type.shape, axis, EVERYWHERE, Why.CONTENT)
    return replace(value, type=TensorType(value.type.dtype, shape))


def note_branch(frame: Frame, fact: BranchFact) -> None:
    """Keeps what is known of a branch, over all times it runs."""
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
