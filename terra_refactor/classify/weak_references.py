"""Classes whose objects cannot be the key of a weak dictionary, by which TensorFlow stores the graphs of a method.

Computes: whether a class has neither `__dict__` nor `__weakref__`: `__slots__` in it and in all of its bases, `@dataclass(slots=True)`, a
`NamedTuple`; whether it derives from a container without hash. Needs: the code of class bodies, and the values of bases. Gives:
`lacks_weak_references`, `lacks_hash`. Source: Python's data model.
"""

from __future__ import annotations

import re
from typing import Final

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.candidates import made_by
from terra_refactor.domain.value import LibraryValue, members
from terra_refactor.facts.class_bases import base_values, class_body_of
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import Display, Literal
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.class_names import GENERIC, NAMED_TUPLE, NAMED_TUPLE_FACTORY, PROTOCOL
from terra_refactor.tf_model.graph_traits import CONTAINERS_WITHOUT_HASH, built_in

_SLOTS: Final = "__slots__"
_HASH: Final = "__hash__"
_WEAK: Final = "__weakref__"
_HAVE_NONE: Final = frozenset({built_in("object"), built_in("tuple"), NAMED_TUPLE.name, GENERIC.name, PROTOCOL.name})
_NEVER: Final = frozenset(map(built_in, ("tuple", "int", "bytes")))
"""Classes whose objects vary in size: objects of a class that derives from one have no weak references, `__slots__` or not."""
_SLOTTED_DATACLASS: Final = re.compile(r"dataclass\(.*\bslots=True\b(?!.*\bweakref_slot=True\b)")


def lacks_weak_references(codes: Codes, facts: ProgramFacts, method: Function) -> bool:
    """Whether a traced method of this class raises `TypeError: cannot create weak reference` when it is called."""
    if not method.takes_self or method.parent is None:
        return False
    return _lacks(codes, facts, method.parent, set())


def lacks_hash(codes: Codes, facts: ProgramFacts, method: Function) -> bool:
    """Whether a traced method of this class raises `TypeError: unhashable type`, because a base of its class is a container."""
    return method.takes_self and method.parent is not None and _derives_unhashable(codes, facts, method.parent, set())


def _derives_unhashable(codes: Codes, facts: ProgramFacts, body: FunctionId, seen: set[FunctionId]) -> bool:
    if body in seen or _HASH in codes.of(body).writes:
        return False
    seen.add(body)
    for base in base_values(codes, facts, body):
        for member in members(base):
            if isinstance(member, LibraryValue):
                if member.name in CONTAINERS_WITHOUT_HASH:
                    return True
            elif (inner := class_body_of(codes, facts, member)) is not None and _derives_unhashable(
                codes, facts, inner, seen
            ):
                return True
    return False


def _lacks(codes: Codes, facts: ProgramFacts, body: FunctionId, seen: set[FunctionId]) -> bool:
    code = codes.program.function(body)
    if body in seen or code.kind is not FunctionKind.CLASS_BODY:
        return False
    seen.add(body)
    bases = [member for base in base_values(codes, facts, body) for member in members(base)]
    named = any(base == NAMED_TUPLE for base in bases)
    if any(
        (isinstance(base, LibraryValue) and base.name in _NEVER) or NAMED_TUPLE_FACTORY in made_by(facts, base)
        for base in bases
    ):
        return True
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
