"""Branches and loops that become part of a graph: the values of the variables that they set.

Computes: symbolic values, sizes that are open after a staged branch or loop. Needs: states. Gives: functions for `branches` and `loops`,
`note_branch`, `note_early_returns`, `changed_variables`, `changed_parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import class_of_instance, find_in_class
from terra_refactor.analysis.facts import MAX_CHANGES, BranchFact, BranchKind, ChangedParts
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.transfer.mappings import dict_element
from terra_refactor.domain.chosen import chosen_in_graph, symbolic, with_axis_open
from terra_refactor.domain.dim import definitely_different
from terra_refactor.domain.lattice import join, join_all, list_element, references
from terra_refactor.domain.state import CELL, ITEMS, HeapKey, State
from terra_refactor.domain.value import (
    UNBOUND,
    Constant,
    FrozenDict,
    FrozenList,
    ObjectId,
    Reference,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Block
from terra_refactor.ir.walk import walk

_MAX_DEPTH: Final = 3
"""Maximum depth of containers in containers whose numbers become tensors."""


def variables_set(block: Block) -> set[str]:
    """The variables that a block sets."""
    return {inner.name for inner in walk(block) if isinstance(inner, ops.StoreName)}


def differing_variables(ends: Sequence[State]) -> set[str]:
    """The variables that differ between the paths to the end of an iteration."""
    return {name for end in ends[1:] for name, _, _ in changed_variables(ends[0].locals, end.locals)}


def make_symbolic(frame: Frame, state: State, names: Iterable[str]) -> None:
    """The Python values set under a condition or in a loop on a tensor: in a graph AutoGraph converts them to tensors."""
    for name in names:
        value = state.locals.get(name)
        if value is not None:
            make_contents_symbolic(frame, state, value)
            state.locals[name] = symbolic(value)


def make_contents_symbolic(frame: Frame, state: State, value: Value, depth: int = 0) -> None:
    """The same for the contents of the lists and dicts that a value refers to, if the call has created them."""
    if depth == _MAX_DEPTH:
        return
    for member in members(value):
        match member:
            case TupleValue(elements=elements):
                parts: Iterable[Value] = elements
            case Reference(number) if number in frame.allocated:
                content = state.get((number, ITEMS))
                if not isinstance(content, FrozenList | FrozenDict):
                    continue
                parts = (list_element(content) if isinstance(content, FrozenList) else dict_element(content),)
                state.set((number, ITEMS), symbolic(content))
            case _:
                continue
        for part in parts:
            make_contents_symbolic(frame, state, part, depth + 1)


def make_fields_symbolic(frame: Frame, state: State, block: Block, behind: OpId | None = None) -> None:
    """The same for variables that nested functions capture, and for attributes and items of objects; with `behind` only
    those set from that statement on.
    """
    for key, index in _fields_set(frame, block, behind).items():
        value = state.get(key)
        if value is None:
            continue
        traced = symbolic(value) if index is None else _item_symbolic(value, index)
        if key[0] not in frame.allocated and key[1] != CELL:
            if traced == value or references(value):
                continue
            frame.staged_fields[key] = value, traced
        state.set(key, traced)


def _fields_set(frame: Frame, block: Block, behind: OpId | None) -> dict[HeapKey, Value | None]:
    """The fields that a block sets: captured variables and attributes, and the contents of containers with the index."""
    found: dict[HeapKey, Value | None] = {}
    names: dict[OpId, str] = {}
    for inner in walk(block):
        if isinstance(inner, ops.LoadName):
            names[inner.id] = inner.name
        if behind is not None and inner.id < behind:
            continue
        match inner:
            case ops.StoreName(name=name, scope=ops.Scope.CELL):
                found[(frame.cells[name], CELL)] = None
            case ops.StoreAttribute(object=owner, name=name):
                # AutoGraph also returns what no side sets in this trace
                skipped = frame.state.locals.get(names.get(owner, "")) if frame.values[owner] is None else None
                held = _objects(frame, owner) if skipped is None else _objects_in(skipped)
                found.update(((each, name), None) for each in held)
            case ops.StoreItem(object=owner, index=index):
                at = frame.value(index)
                for each in _objects(frame, owner):
                    known = found.get((each, ITEMS))
                    found[(each, ITEMS)] = at if known is None else join(known, at)
            case _:
                pass
    return found


def changed_parts(frame: Frame, block: Block, first: State, second: State) -> ChangedParts:
    """The attributes and items set by a block that differ between two states, by the operations that set them."""
    found: list[tuple[OpId, Value, Value]] = []
    for inner in walk(block):
        if isinstance(inner, ops.StoreAttribute | ops.StoreItem):
            one, other = _part(frame, inner, first), _part(frame, inner, second)
            if one is not None and other is not None and one != other:
                found.append((inner.id, one, other))
    return tuple(found)


def note_early_returns(frame: Frame, number: OpId, end: State) -> None:
    """Records what a function sets after branches on tensors that return, up to a later `return`: AutoGraph makes the code
    after such a branch its other side, at whose end attributes and items have to agree with those at the first `return`.
    """
    staged = {op for op, fact in frame.branches.items() if fact.kind is BranchKind.TENSOR} if frame.early else set()
    for holder in walk(frame.function.body) if staged else ():
        if holder.id not in staged or not isinstance(holder, ops.If):
            continue
        inside = {inner.id for inner in walk((*holder.then_block, *holder.else_block))}
        starts = [state for early, state in frame.early if early in inside]
        if not starts or number in inside:
            continue
        behind = [inner for inner in walk(frame.function.body) if inner.id > max(inside)]
        stores = tuple(inner for inner in behind if isinstance(inner, ops.StoreAttribute | ops.StoreItem))
        for state in starts if stores else ():
            parts = changed_parts(frame, stores, state, end)
            if parts:
                note_branch(frame, replace(frame.branches[holder.id], parts=parts))
    frame.early.append((number, end))


def _part(frame: Frame, op: ops.StoreAttribute | ops.StoreItem, state: State) -> Value | None:
    """The value of an attribute or item in a state, with contents of containers; `UNBOUND` if it does not exist, None if unknown."""
    owners = members(frame.value(op.object))
    owner = owners[0] if len(owners) == 1 else None
    if not isinstance(owner, Reference):
        return None
    if isinstance(op, ops.StoreAttribute):
        value = state.get((owner.object, op.name))
        if value is None:
            cls = class_of_instance(frame, owner) if owner.object in frame.allocated else None
            value = UNBOUND if cls is not None and find_in_class(frame, cls, op.name) is None else None
    else:
        content, index = state.get((owner.object, ITEMS)), frame.value(op.index)
        value = None
        match content:
            case FrozenDict(items=items, rest=None) if isinstance(index, Constant):
                value = dict(items).get(index, UNBOUND)
            case FrozenList(elements=tuple() as elements):
                place = _index(index)
                value = None if place is None or place not in range(len(elements)) else elements[place]
            case _:
                pass
    return None if value is None else freeze_in(state, value)


def _objects(frame: Frame, number: OpId) -> list[ObjectId]:
    return _objects_in(frame.value(number))


def _objects_in(value: Value) -> list[ObjectId]:
    return [member.object for member in members(value) if isinstance(member, Reference)]


def _item_symbolic(content: Value, index: Value) -> Value:
    """The content of a list or dict after a branch or loop that sets the item of an index."""
    wanted = members(index)
    match content:
        case FrozenDict(items=items, rest=rest):
            is_known = all(isinstance(each, Constant) for each in wanted)
            changed = tuple((key, symbolic(value) if not is_known or key in wanted else value) for key, value in items)
            return replace(
                content, items=changed, rest=rest if rest is None or (is_known and items) else symbolic(rest)
            )
        case FrozenList(elements=tuple() as elements):
            places = {None if (place := _index(each)) is None else place % max(len(elements), 1) for each in wanted}
            return FrozenList(
                tuple(
                    symbolic(each) if place in places or None in places else each for place, each in enumerate(elements)
                )
            )
        case FrozenList(element=element) if element is not None:
            return replace(content, element=symbolic(element))
        case _:
            return content


def _index(value: Value) -> int | None:
    """The number of an index; None for other values."""
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


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
            tuple(dict.fromkeys((*known.parts, *fact.parts)))[:MAX_CHANGES],
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
