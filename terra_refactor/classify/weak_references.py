"""Classes whose objects cannot be weakly referenced: TensorFlow stores the graphs of a method by weak references to its
objects.

Computes: whether a class has neither `__dict__` nor `__weakref__`: `__slots__` in it and in all of its bases, `@dataclass(slots=True)`, a
`NamedTuple`. Needs: the code of class bodies, and the values of bases. Gives: `lacks_weak_references`. Source: Python's data model.
"""

from __future__ import annotations

import re
from typing import Final

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.candidates import base_values, class_body_of
from terra_refactor.domain.value import LibraryValue, members
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import Display, Literal
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.class_names import GENERIC, NAMED_TUPLE, PROTOCOL
from terra_refactor.tf_model.graph_traits import built_in

_SLOTS: Final = "__slots__"
_WEAK: Final = "__weakref__"
_HAVE_NONE: Final = frozenset({built_in("object"), built_in("tuple"), NAMED_TUPLE.name, GENERIC.name, PROTOCOL.name})
_SLOTTED_DATACLASS: Final = re.compile(r"dataclass\(.*\bslots=True\b(?!.*\bweakref_slot=True\b)")


def lacks_weak_references(codes: Codes, facts: ProgramFacts, method: Function) -> bool:
    """Whether a traced method of this class raises `TypeError: cannot create weak reference` when it is called."""
    if not method.takes_self or method.parent is None:
        return False
    return _lacks(codes, facts, method.parent, set())


def _lacks(codes: Codes, facts: ProgramFacts, body: FunctionId, seen: set[FunctionId]) -> bool:
    code = codes.program.function(body)
    if body in seen or code.kind is not FunctionKind.CLASS_BODY:
        return False
    seen.add(body)
    bases = [member for base in base_values(codes, facts, body) for member in members(base)]
    named = any(base == NAMED_TUPLE for base in bases)
    slotted = any(_SLOTTED_DATACLASS.search(decorator.text) for decorator in code.decorators)
    if not (named or slotted or _has_only_slots(codes, body)):
        return False
    for base in bases:
        if isinstance(base, LibraryValue):
            if base.name not in _HAVE_NONE:
                return False
        else:
            inner = class_body_of(codes, facts, base)
            if inner is None or not _lacks(codes, facts, inner, seen):
                return False
    return True


def _has_only_slots(codes: Codes, body: FunctionId) -> bool:
    """Whether a class body sets `__slots__` to literal names, without `__weakref__` and `__dict__`."""
    code = codes.of(body)
    writes = code.writes.get(_SLOTS, ())
    if len(writes) != 1:
        return False
    given = code.facts[writes[0].value]
    parts = [code.facts[item.value] for item in given.items] if isinstance(given, Display) else [given]
    names = [part.value for part in parts if isinstance(part, Literal)]
    return len(names) == len(parts) and _WEAK not in names
