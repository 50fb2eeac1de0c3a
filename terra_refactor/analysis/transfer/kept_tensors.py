"""Tensors in kept objects.

Computes: whether an object, closure or partial function created in a call contains a tensor created in the call: when
the call is traced, a reference to the object keeps a tensor that has no value later; also for an object that is stored
first and filled afterwards. Needs: the heap. Gives: `holds_new_tensor`, `note_filled_later`, `has_new_tensor`,
`has_tensor`. Ignores: a tensor itself, and displays of tensors, whose
operations rules see directly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.engine import Heap, Site
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.lattice import references
from terra_refactor.domain.state import CELL, ITEMS
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    FunctionValue,
    PartialValue,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)

_WITH_VALUE: Final = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR, TensorKind.VARIABLE, TensorKind.KERAS)
_MOST_OBJECTS: Final = 64


def holds_new_tensor(site: Site, value: Value) -> bool:
    """Whether the value leads, through objects created in this call, to a tensor created in this call."""
    return _leads_to_new_tensor(site.engine, site.frame, value)


def note_filled_later(engine: Heap, frame: Frame) -> None:
    """At the end of a call, marks its writes that have stored an object into which the call has put a tensor afterwards."""
    for key, effect in list(frame.effects.items()):
        number = effect.target.object
        if effect.kind is not EffectKind.STATE_WRITE or effect.keeps_tensor or effect.via or number is None:
            continue
        path = effect.target.path
        held = frame.state.get((number, path if path == ITEMS else path.lstrip(".") or CELL))
        if held is not None and number not in frame.allocated and _leads_to_new_tensor(engine, frame, held):
            frame.effects[key] = replace(effect, keeps_tensor=True)


def _leads_to_new_tensor(engine: Heap, frame: Frame, value: Value) -> bool:
    if not any(isinstance(member, Reference | FunctionValue | PartialValue | TupleValue) for member in members(value)):
        return False
    inside = [*_parts(value)]
    if not inside and frame.allocated.isdisjoint(references(value)):
        return False
    read = _read_from_elsewhere(frame)
    found = [tensor for part in inside for tensor in _tensors(part)]
    pending, seen = [number for number in references(value) if number in frame.allocated], set[int]()
    while pending and len(seen) < _MOST_OBJECTS:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        for name, held in engine.fields_here(frame, number).items():
            if "@" not in name:
                found.extend(_tensors(held))
                pending.extend(inner for inner in references(held) if inner in frame.allocated)
    return any(id(tensor) not in read for tensor in found)


def has_new_tensor(frame: Frame, value: Value) -> bool:
    """Whether the value is or contains a tensor created in this call."""
    found = _tensors(value)
    return bool(found) and not _read_from_elsewhere(frame).issuperset(map(id, found))


def has_tensor(value: Value) -> bool:
    """Whether the value is or contains a TensorFlow tensor."""
    return bool(_tensors(value))


def _read_from_elsewhere(frame: Frame) -> set[int]:
    """The identities of the tensors that the call has read from the heap."""
    return {id(tensor) for held in (frame.root.reads or {}).values() if held is not None for tensor in _tensors(held)}


def _parts(value: Value) -> tuple[Value, ...]:
    """Parts of a value that is not a reference."""
    return tuple(
        part
        for member in members(value)
        if isinstance(member, PartialValue)
        for part in (*member.arguments, *(given for _, given in member.keywords))
    )


def is_known_variable(value: Value) -> bool:
    """Whether it is a variable whose creation is known."""
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE and value.variable is not None


def is_same_variable(held: Value | None, value: Value) -> bool:
    """Whether an attribute or a name has this variable already, as in `self.step = self.step.assign_add(1)`."""
    return isinstance(held, TensorValue) and isinstance(value, TensorValue) and held.variable == value.variable


def _tensors(value: Value) -> list[TensorValue]:
    """The TensorFlow tensors that a value is or contains."""
    found: list[TensorValue] = []
    for member in members(value):
        match member:
            case TensorValue(kind=kind) if kind not in _WITH_VALUE and member.variable is None:
                found.append(member)
            case TupleValue(elements=elements):
                found.extend(tensor for element in elements for tensor in _tensors(element))
            case FrozenList(elements=elements):
                parts = elements if elements is not None else () if member.element is None else (member.element,)
                found.extend(tensor for part in parts for tensor in _tensors(part))
            case FrozenDict():
                parts = (*(item for _, item in member.items), *(() if member.rest is None else (member.rest,)))
                found.extend(tensor for part in parts for tensor in _tensors(part))
            case _:
                continue
    return found
