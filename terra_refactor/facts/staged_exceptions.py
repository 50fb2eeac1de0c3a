"""Exceptions that leave a traced function as another class than the one raised.

AutoGraph re-raises an exception with a message that shows the user's code. The new exception has the same class only
if AutoGraph knows the constructor: some classes of Python, those of TensorFlow's operations, and classes whose
`__init__` is that of `Exception`. For others it raises `StagingError`, which is not a subclass of `ValueError`,
`LookupError` or the program's classes.

Computes: the class of a `raise`, its bases, and whether a handler catches it eagerly but not in a graph. Needs: a
`ContextView`. Gives: `Raised`, `raised`, `exchanged`, `ends_all`. Ignores: classes with unknown bases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import LibraryValue, ObjectId, Reference, Value, members
from terra_refactor.facts.catching import Catch, caught_around
from terra_refactor.facts.records import Call, ClassMade, Raise
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.class_names import ATTRS
from terra_refactor.tf_model.expected_errors import RAISED_AS_THEMSELVES, python_bases
from terra_refactor.tf_model.graph_traits import is_error_of_operation

_SETS_UP: Final = "__init__"
_WRITERS: Final = ("dataclass", *ATTRS)


@dataclass(frozen=True, slots=True)
class Raised:
    """The class of an exception."""

    name: str
    own: frozenset[ObjectId]
    """The class and its bases, as far as the program defines them."""
    library: frozenset[str]
    """Its bases in Python's library (or itself, if it is from there), except `Exception`."""
    is_exchanged: bool
    """Whether AutoGraph replaces it by `StagingError`."""

    def is_ended_by(self, catch: Catch) -> bool:
        """Whether a handler names it or one of its bases, except `Exception`: it would not catch a `StagingError`."""
        return any(
            (isinstance(cls, Reference) and cls.object in self.own)
            or (isinstance(cls, LibraryValue) and not self.library.isdisjoint((python_bases(cls.name) or ())[:1]))
            for cls in catch.classes
        )


def exchanged(view: ContextView, statement: Raise) -> Iterator[Raised]:
    """The classes of a statement's exceptions that AutoGraph replaces."""
    return (each for each in raised(view, statement) if each.is_exchanged)


def raised(view: ContextView, statement: Raise) -> Iterator[Raised]:
    """The classes of a statement's exceptions, as far as all their bases are known."""
    if statement.exception is None:
        return
    made = view.origin(statement.exception)
    value = view.value(made.function if isinstance(made, Call) else statement.exception)
    for cls in members(value):
        found = _described(view, cls)
        if found is not None:
            yield found


def ends_all(view: ContextView, number: OpId, raising: Iterable[ContextView], statement: OpId) -> bool:
    """Whether a handler around a call catches all exceptions of a `raise` in its callees, in any context."""
    catches = [catch for _, catch in caught_around(view, number)]
    found: list[Raised] = []
    for inner in raising if catches else ():
        fact = inner.code.facts[statement]
        found += exchanged(inner, fact) if isinstance(fact, Raise) else ()
    return bool(found) and all(any(map(each.is_ended_by, catches)) for each in found)


def _described(view: ContextView, cls: Value) -> Raised | None:
    own: set[ObjectId] = set()
    library: set[str] = set()
    sets_up = False
    name = ""
    pending = [cls]
    while pending:
        each = pending.pop()
        if isinstance(each, LibraryValue):
            bases = python_bases(each.name)
            if bases is None or is_error_of_operation(each.name):
                return None
            library.update(bases)
            name = name or each.name.rpartition(".")[2]
            # the bases of `Exception` itself do not count
            sets_up |= bool(bases)
            sets_up &= bool(own) or each.name not in RAISED_AS_THEMSELVES
            continue
        if not isinstance(each, Reference):
            return None
        facts = view.facts.objects[each.object]
        if facts.kind is not ObjectKind.CLASS or facts.function is None or facts.op is None:
            return None
        definition = view.codes.of(facts.function).facts[facts.op]
        if not isinstance(definition, ClassMade):
            return None
        own.add(each.object)
        name = name or facts.name
        outline = next((one for one in view.codes.classes_named(facts.name) if one.body == definition.body), None)
        sets_up |= outline is None or outline.defines(_SETS_UP) or any(map(_writes_set_up, outline.decorators))
        for base in definition.bases:
            values = view.facts.values_of(facts.function, base)
            if not values:
                return None
            pending += [member for value in values for member in members(value) if not _is_known(member, own)]
    return Raised(name, frozenset(own), frozenset(library), sets_up)


def _writes_set_up(decorator: str) -> bool:
    """Whether a decorator gives a class an `__init__`."""
    return any(part in decorator for part in _WRITERS)


def _is_known(value: Value, own: set[ObjectId]) -> bool:
    return isinstance(value, Reference) and value.object in own
