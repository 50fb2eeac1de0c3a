"""Reads of containers as a whole.

Computes: the state that is read when a container is passed to a consumer of all its items (a library function, an
operator, formatting, a `**`) or returned to the caller, when a dataclass is converted to its fields, and when a layer
or optimizer of Keras is used; and the contents of containers after a selection from too many. Needs: the heap. Gives:
`note_contents`, `note_arguments`, `note_settings`, `note_returned`, `one_of_many`. Ignores: attributes of other
objects of the program, which no library function reads; those that do (`copy.copy`, `vars`) record it themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from terra_refactor.analysis.boundary import less_known
from terra_refactor.analysis.classes import FIELDS
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.domain.lattice import references
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.value import (
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    ObjectId,
    Reference,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.library_objects import NOT_LOOKED_INTO, TAKE_RECORDS_APART
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.python_effects import MUTATING_METHODS

_MOST_CONTAINERS: Final = 64
"""Maximum number of nested containers searched."""

_READ_BY_LAYERS: Final = words("activation epsilon momentum rate stddev")
_READ_BY_OPTIMIZERS: Final = words(
    "beta_1 beta_2 clipnorm clipvalue ema_momentum epsilon global_clipnorm momentum rho weight_decay"
)
_SETTINGS_READ: Final = {
    "__call__": _READ_BY_LAYERS,
    **dict.fromkeys(("apply", "apply_gradients", "minimize"), _READ_BY_OPTIMIZERS),
}
"""Settings of Keras layers and optimizers that these methods read, and that programs change between calls.

The other settings are stored in weights or a variable (the learning rate).
"""


def note_arguments(site: Site, name: str, arguments: CallArguments, receiver: Value | None) -> None:
    """Records that a library function reads the containers passed to it, and the one whose method it is."""
    owner, _, method = name.rpartition(".")
    if name in TAKE_RECORDS_APART:
        for value in arguments.positional:
            _note_fields(site, value)
    if name in NOT_LOOKED_INTO or method in MUTATING_METHODS.get(owner, ()):
        return
    if receiver is not None:
        note_contents(site, receiver)
    for value in arguments.positional:
        note_contents(site, value)
    for _, value in arguments.keywords:
        note_contents(site, value)
    for rest in (arguments.open_positional, arguments.open_keywords):
        if rest is not None:
            note_contents(site, rest)


def one_of_many(frame: Frame, chosen: Value, choices: Iterable[Value]) -> Value:
    """The item `chosen` of a container, which may be any of `choices`.

    If there are too many, later operations on the item are not tracked. Since the code may fill or empty it, the
    contents of the containers among `choices` become unknown.
    """
    if isinstance(chosen, UnknownValue):
        for number in sorted({number for choice in choices for number in references(choice)}):
            content = frame.state.get((number, ITEMS))
            if isinstance(content, FrozenList | FrozenDict):
                frame.state.set((number, ITEMS), less_known(content))
    return chosen


def note_settings(site: Site, cls: str, method: str, receiver: Value) -> None:
    """Records that a method of a layer or optimizer of the library class `cls` reads its settings."""
    read = _SETTINGS_READ.get(method)
    entity = None if read is None else registry.lookup(cls)
    settings = [each.name for each in (entity and entity.parameters) or () if read and each.name in read]
    for number in sorted(references(receiver)) if settings else ():
        for setting in settings:
            site.frame.note_read(site.op, (number, setting))


def note_returned(site: Site, value: Value) -> None:
    """Records that the caller receives containers that existed before the call: a graph returns their contents at trace time."""
    note_contents(site, value)


def _note_fields(site: Site, value: Value) -> None:
    """Records a read of all fields of dataclasses, with their contents."""
    frame = site.frame
    pending, seen = sorted(references(value)), set[ObjectId]()
    while pending and len(seen) < _MOST_CONTAINERS:
        number = pending.pop()
        cls = frame.state.get((number, CLASS))
        if number in seen or not isinstance(cls, Reference):
            continue
        seen.add(number)
        fields = frame.state.get((cls.object, FIELDS))
        for field in fields.elements if isinstance(fields, TupleValue) else ():
            if isinstance(field, Constant) and isinstance(field.value, str):
                frame.note_read(site.op, (number, field.value))
                held = frame.state.get((number, field.value))
                if held is not None:
                    note_contents(site, held)
                    pending.extend(sorted(references(held)))


def note_contents(site: Site, value: Value) -> None:
    """Records a read of all containers in a value, with their contents."""
    frame = site.frame
    found = references(value)
    if not found:
        return
    seen: set[ObjectId] = set()
    pending = sorted(found)
    while pending and len(seen) < _MOST_CONTAINERS:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        content = frame.state.get((number, ITEMS))
        if content is not None or _can_change(frame.state.get((number, CLASS))):
            frame.note_read(site.op, (number, ITEMS))
            pending.extend(sorted(references(content) - seen) if content is not None else ())


def _can_change(cls: Value | None) -> bool:
    """Whether it is a mutable container class of a library, such as `collections.Counter`."""
    return isinstance(cls, LibraryValue) and cls.name in MUTATING_METHODS
