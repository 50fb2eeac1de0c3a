"""The heap of the interpreter: allocation, writes, and settled fields.

Computes: names of new objects (recency abstraction: an object created at a site before becomes an older object), strong and weak updates.
Needs: a frame's state. Gives: `AbstractHeap`, the base of the interpreter.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.objects import ObjectTable
from terra_refactor.domain.lattice import WITHOUT_OBJECTS, join, names_object, references, rename
from terra_refactor.domain.state import ANY_NAME, BASES, EXISTS, HeapKey, State, is_there, may_be_named, written_to_any
from terra_refactor.domain.value import (
    FALSE,
    TRUE,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    ObjectId,
    Reference,
    Value,
    members,
)
from terra_refactor.ir.ids import FunctionId, OpId

_FEW = 2
"""Maximum number of possible names for a write under an unknown name; beyond it, all attributes of the object get the value."""


WHOLE_OBJECT: Final = (ANY_NAME, BASES)
"""A write to one of these fields may change what is found for any attribute of the object."""


class AbstractHeap:
    """Objects and the state of the program outside of any call."""

    def __init__(self, objects: ObjectTable | None = None) -> None:
        self.objects = objects or ObjectTable()
        self.world = State(None, {}, None)
        """The state of the program outside of any call: globals and the objects that they lead to."""

    def begin_epoch(self, written: HeapKey, unsettled: Set[HeapKey]) -> None:
        """Drops the results that depend on fields that were settled, because one is written after all."""
        raise NotImplementedError

    def spoil_logs(self) -> None:
        """Marks the logs of running contexts as incomplete: they depend on something that is not logged and is about to
        change.
        """
        raise NotImplementedError

    def allocate(
        self, frame: Frame, op: OpId, kind: ObjectKind, name: str, tag: object = None, body: FunctionId | None = None
    ) -> ObjectId:
        """A new object created by operation `op`. An object that it created earlier on this path becomes an older one."""
        number = self.objects.at_site(kind, name, frame.function.id, op, (frame.iteration, tag), body)
        self.make_room(frame, number)
        frame.state.set((number, EXISTS), TRUE)
        frame.note_made(op, number)
        return number

    def make_room_again(self, frame: Frame, op: OpId) -> None:
        """Ages the objects that an operation created earlier on this path before it runs again, since its operands may
        refer to them.
        """
        iteration = frame.iteration
        for number, at in tuple(frame.makers[op].items()):
            if at[: len(iteration)] == iteration:
                self.make_room(frame, number)

    def make_room(self, frame: Frame, number: ObjectId) -> None:
        """Renames an existing object on this path whose number is about to be given to a new object.

        Does nothing if a module is run again: a program runs it once, so this run creates the same objects as the
        earlier one.
        """
        state = frame.state
        if not is_there(state.get((number, EXISTS))) or (frame.root is self.world and number not in frame.allocated):
            return
        older = self.objects.older(number)
        mapping = {number: older}
        exists_older = state.get((older, EXISTS)) is not None
        for key, value in _fields_about(state, number):
            if key[0] == number:
                state.heap[key] = UNBOUND
                if key[1] == EXISTS:
                    continue
                moved = (older, key[1])
                known = state.get(moved) if exists_older else None
                renamed = rename(value, mapping)
                state.set(moved, renamed if known is None else join(known, renamed))
            else:
                state.set(key, rename(value, mapping))
        state.set((older, EXISTS), FALSE)
        frame.allocated.add(older)
        for name, value in state.locals.items():
            if names_object(value, number):
                state.locals[name] = rename(value, mapping)
        frame.rename(number, mapping)

    def fields_here(self, frame: Frame, number: ObjectId) -> dict[str, Value]:
        """The fields of an object that this call has created."""
        return {key[1]: value for key, value in _visible(frame.state).items() if key[0] == number}

    def unsettle(self, key: HeapKey) -> None:
        """Handles a write to a field that was assumed to be settled: drops the results that depend on its value."""
        settled = self.world.settled
        if not settled.has(key):
            return
        self.spoil_logs()
        fields = settled.unsettle_all(key[0]) if key[1] in WHOLE_OBJECT else settled.unsettle(key)
        self.begin_epoch(key, fields)

    def write(self, frame: Frame, key: HeapKey, value: Value) -> None:
        """Writes a field: a strong update if the object represents one object, a weak one if it may represent several."""
        state = frame.state
        if state.get((key[0], EXISTS)) == FALSE:
            known = state.get(key)
            value = value if known is None else join(known, value)
        state.set(key, value)

    def write_any_name(self, frame: Frame, number: ObjectId, beginning: str, value: Value) -> None:
        """Writes an attribute whose name is known only by a prefix: any such attribute of the object may have the value."""
        if len(members(value)) > _FEW:
            value = UNKNOWN
        self.unsettle((number, ANY_NAME))
        for name, held in self.fields_here(frame, number).items():
            if may_be_named(name, beginning):
                frame.state.set((number, name), join(held, value))
        known = frame.state.get((number, ANY_NAME))
        values = {beginning: value}
        for name, written in () if known is None else written_to_any(known):
            joined = join(written, values[name]) if name in values else written
            values[name] = joined if len(members(joined)) <= _FEW else UNKNOWN
        named = tuple((Constant(name), written) for name, written in values.items() if name)
        frame.state.set((number, ANY_NAME), FrozenDict(named, values.get("")))


def _fields_about(state: State, number: ObjectId) -> list[tuple[HeapKey, Value]]:
    """The fields of an object, and those whose value refers to it, that one call sees, in the order of `_visible`.

    Few of the heap's fields.
    """
    found: list[tuple[HeapKey, Value]] = []
    nearer: list[dict[HeapKey, Value]] = []
    level: State | None = state
    while level is not None:
        heap = level.heap
        for item in heap.items():
            key, value = item
            if key[0] != number:
                # not `names_object`: most of the time would be that of its calls
                kind = type(value)
                if kind in WITHOUT_OBJECTS:
                    continue
                if kind is Reference:
                    if value.object != number:  # type: ignore[union-attr]
                        continue
                elif number not in references(value):
                    continue
            if not any(key in known for known in nearer):
                found.append(item)
        if level.reads is not None:
            break
        nearer.append(heap)
        level = level.parent
    return found


def _visible(state: State) -> dict[HeapKey, Value]:
    """The heap of one call within its boundary; nearest delta first."""
    visible = state.heap.copy()
    level: State | None = state
    while level is not None and level.reads is None:
        level = level.parent
        if level is not None:
            visible = {**visible, **level.heap, **visible}  # the first operand sets the order, the last one the values
    return visible
