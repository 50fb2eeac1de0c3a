"""The base classes of the program's classes.

Computes: the values of a class's bases, and the library classes among its ancestors. Needs: facts. Gives: `base_values`,
`class_body_of`, `derives_from`, `has_unseen_base`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.domain.value import LibraryValue, PartialValue, Reference, UnknownValue, Value, members
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import ClassMade
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model import registry


def base_values(codes: Codes, facts: ProgramFacts, body: FunctionId) -> list[Value]:
    """The values of the bases of the class with that body, over all contexts that define it; of `dict[str, int]` that of `dict`."""
    code = codes.program.function(body)
    if code.parent is None:
        return []
    made = codes.class_made_of(code.parent, body)
    found = (value for base in (made.bases if made else ()) for value in facts.values_of(code.parent, base))
    return [value.function if isinstance(value, PartialValue) else value for value in found]


def class_body_of(codes: Codes, facts: ProgramFacts, value: Value) -> FunctionId | None:
    """The class body from which a class object of the program was created."""
    if not isinstance(value, Reference):
        return None
    made = facts.objects[value.object]
    if made.function is None or made.op is None:
        return None
    fact = codes.of(made.function).facts[made.op]
    return fact.body if isinstance(fact, ClassMade) else None


def derives_from(codes: Codes, facts: ProgramFacts, body: FunctionId, classes: Collection[str]) -> bool:
    """Whether the class of that body derives from one of these library classes, directly or through classes of the program."""
    found = (base for base in _bases(codes, facts, body, set()) if isinstance(base, LibraryValue))
    return any(registry.is_library_subclass(base.name, cls) for base in found for cls in classes)


def has_unseen_base(codes: Codes, facts: ProgramFacts, body: FunctionId) -> bool:
    """Whether the class of that body derives from a class whose code and members are not known."""
    return any(
        isinstance(base, UnknownValue) or (isinstance(base, LibraryValue) and registry.is_taken_to_exist(base.name))
        for base in _bases(codes, facts, body, set())
    )


def _bases(codes: Codes, facts: ProgramFacts, body: FunctionId, seen: set[FunctionId]) -> Iterator[Value]:
    """The bases of a class and of its bases in the program."""
    if body in seen:
        return
    seen.add(body)
    for base in base_values(codes, facts, body):
        for member in members(base):
            yield member
            inner = class_body_of(codes, facts, member)
            if inner is not None:
                yield from _bases(codes, facts, inner, seen)
