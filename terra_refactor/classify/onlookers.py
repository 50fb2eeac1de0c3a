"""Whether other code reads the side effects and results of a call of a graph.

Computes: whether a result is unused, and whether eager code of the program reads an attribute of the very objects on
which a call sets it. A read of the same name from an object of another class, from an unknown object, or in code that
runs while a graph is traced does not count: an error needs proof, and a name is not proof. Needs: facts, and the code
of the functions. Gives: `goes_nowhere`, `written_objects`, `reads_of_these`, `is_used_in_graph`,
`is_captured_unread`.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from terra_refactor.analysis.facts import ContextFacts, ObjectKind
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import ObjectId, Reference, Value, members
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Display,
    Fact,
    ItemRead,
    ItemWrite,
    Literal,
    NameWrite,
    Operation,
    Unpacked,
)
from terra_refactor.ir.ids import FunctionId, OpId

_PASSED_ON = AttributeRead | ItemRead | Operation | Display | Unpacked
"""Operations that only compute another result."""


def goes_nowhere(hazards: HazardMap, context: ContextFacts, number: OpId, seen: frozenset[OpId] = frozenset()) -> bool:
    """Whether a result, and everything computed from it, is unused: dropped, or stored in a variable that is never read."""
    index = hazards.index(context.function)
    seen |= {number}
    return all(
        user in seen or _ends_here(hazards, context, index.facts[user], seen)
        for user in index.readers(number, results=True)
    )


def _ends_here(hazards: HazardMap, context: ContextFacts, fact: Fact | None, seen: frozenset[OpId]) -> bool:
    match fact:
        case NameWrite():
            return _is_stored_in_vain(hazards, context, fact, seen)
        case Call():
            return _only_computes(context, fact.op) and goes_nowhere(hazards, context, fact.op, seen)
        case _ if isinstance(fact, _PASSED_ON):
            return goes_nowhere(hazards, context, fact.op, seen)
        case _:
            return False


def _is_stored_in_vain(hazards: HazardMap, context: ContextFacts, write: NameWrite, seen: frozenset[OpId]) -> bool:
    if write.is_own:
        reads = hazards.index(context.function).reads_of(write.name)
        return all(read.op in seen or goes_nowhere(hazards, context, read.op, seen) for read in reads)
    functions = hazards.whole_program.modules[context.function.module].functions
    return not any(hazards.index(function.id).reads_of(write.name) for function in functions)


def _only_computes(context: ContextFacts, call: OpId) -> bool:
    """Whether a call reaches only library functions without effects of their own."""
    fact = next((each for each in context.calls if each.op == call), None)
    if fact is None or fact.unknown is not None or fact.callees or not fact.library:
        return False
    return not any(effect.site.op == call and not effect.via for effect in context.effects)


def written_objects(hazards: HazardMap, contexts: Iterable[ContextFacts], place: OpId) -> frozenset[ObjectId] | None:
    """The objects of which an operation sets an attribute, or changes an attribute's content; None if one is unknown."""
    found: set[ObjectId] = set()
    for context in contexts:
        index = hazards.index(context.function)
        fact = index.facts[place]
        if isinstance(fact, Call | ItemWrite) and fact.owner is not None:
            fact = index.facts[fact.owner]
        if not isinstance(fact, AttributeWrite | AttributeRead):
            return None
        found.update(_objects(context.values[fact.owner]))
    return frozenset(found)


def is_captured_unread(hazards: HazardMap, function: FunctionId, name: str) -> bool:
    """Whether only a graph reads a container that it captures: the enclosing function creates it, and then only fills it."""
    outer = hazards.index(function).function.parent
    while outer is not None and name not in hazards.index(outer).writes:
        if hazards.index(outer).has_parameter(name):
            return False
        outer = hazards.index(outer).function.parent
    if outer is None:
        return False
    for other in hazards.whole_program.modules[function.module].functions:
        if other.id != outer and not _is_inside(hazards, other.id, outer):
            continue
        if other.id == function or _is_inside(hazards, other.id, function):
            continue
        index = hazards.index(other.id)
        for read in index.reads_of(name):
            users = [index.facts[user] for user in index.readers(read.op, results=True)]
            if not all(isinstance(user, ItemWrite) and user.owner == read.op for user in users):
                return False
    return True


def _is_inside(hazards: HazardMap, function: FunctionId, outer: FunctionId) -> bool:
    """Whether a function is nested in another one."""
    parent = hazards.index(function).function.parent
    while parent is not None and parent != outer:
        parent = hazards.index(parent).function.parent
    return parent is not None


def is_used_in_graph(hazards: HazardMap, contexts: Iterable[ContextFacts], place: OpId) -> bool:
    """Whether a graph calls an object that an operation creates, or a method of it, or passes it on; True if the
    operation creates no object.
    """
    made = {number for context in contexts for number in _objects(context.values[place])}
    if not made:
        return True
    for context in hazards.whole_facts.contexts:
        if not context.in_graph:
            continue
        index = hazards.index(context.function)
        for call in context.calls:
            fact = index.facts[call.op]
            if not isinstance(fact, Call):
                continue
            # functions that receive it are not inspected
            handed_on = [argument.value for argument in fact.arguments] if call.callees else []
            receiver = fact.function if fact.owner is None else fact.owner
            if any(not made.isdisjoint(_objects(context.values[number])) for number in (receiver, *handed_on)):
                return True
    return False


def reads_of_these(
    hazards: HazardMap, reader: FunctionId, attribute: str, written: Set[ObjectId], writer: FunctionId
) -> bool:
    """Whether eager code of a function reads, by name, the attribute of an object that may be one of these, which another one sets."""
    index = hazards.index(reader)
    owners = [read.owner for read in index.of_kind(AttributeRead) if read.name == attribute]
    owners += [call.arguments[0].value for call in index.of_kind(Call) if _asks_for(index, call, attribute)]
    return any(
        _may_be_one(hazards, (reader, number), (writer, other))
        for context in hazards.whole_facts.contexts_of(reader)
        if not context.in_graph
        for owner in owners
        for number in _objects(context.values[owner])
        for other in written
    )


def _asks_for(index: CodeFacts, call: Call, attribute: str) -> bool:
    asked = index.facts[call.arguments[1].value] if len(call.arguments) > 1 else None
    return isinstance(asked, Literal) and asked.value == attribute


def _may_be_one(hazards: HazardMap, one: tuple[FunctionId, ObjectId], other: tuple[FunctionId, ObjectId]) -> bool:
    """Whether two abstract objects, each of a function, may be the same: each context has its own names for its arguments, so
    classes are compared.
    """
    objects = hazards.whole_facts.objects
    first, second = objects[one[1]], objects[other[1]]
    if ObjectKind.CLASS not in (first.kind, second.kind) and first.kind is not second.kind:
        return False
    if first.name == second.name and len(hazards.codes.classes_named(first.name)) > 1:
        # several classes have that name: a name is no proof
        return _class_around(hazards, one[0], first.name) == _class_around(hazards, other[0], first.name) is not None
    return hazards.codes.are_related(first.name, second.name)


def _class_around(hazards: HazardMap, function: FunctionId, name: str) -> FunctionId | None:
    """The body of the class with that name that a function is a method of, or that its module defines."""
    code = hazards.whole_program.function(function)
    named = [outline.body for outline in hazards.codes.classes_named(name)]
    if code.parent in named:
        return code.parent
    here = [body for body in named if body.module == function.module]
    return here[0] if len(here) == 1 else None


def _objects(value: Value | None) -> set[ObjectId]:
    return set() if value is None else {member.object for member in members(value) if isinstance(member, Reference)}
