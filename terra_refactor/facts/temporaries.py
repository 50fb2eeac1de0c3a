"""Objects that nothing holds: `Scaler(2.0)` in `Scaler(2.0).apply(x)`.

Computes: whether the object of an expression is released as soon as one of its attributes has been read. Needs: the views of the
contexts. Gives: `is_temporary`, `outlives_object`. Source: CPython frees an object with its last reference.

Approximates: an object that its own constructor passes on, or that a function stores, counts as held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectFacts, ObjectKind
from terra_refactor.domain.value import PartialValue, Reference, members
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    NameRead,
    Operation,
    Return,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Scope
from terra_refactor.tf_model.class_names import COPIES_OF_OBJECTS
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 4
_CONSTRUCTOR: Final = "__init__"


def is_temporary(view: ContextView, number: OpId, depth: int = 0) -> bool:
    """Whether an expression may give an object that only the expression itself holds."""
    if depth > _MAX_DEPTH:
        return False
    match view.made(number):
        case Call(op=op, owner=owner):
            return (
                _makes(view, op)
                or not COPIES_OF_OBJECTS.isdisjoint(view.library_of(op))
                or _is_handed_out(view, op, owner, depth)
            )
        case Choice(results=results):
            return any(is_temporary(view, each, depth + 1) for each in results)
        case Operation(op=op, left=owner) | ItemRead(op=op, owner=owner):
            return _is_handed_out(view, op, owner, depth)
        case AttributeRead(op=op, owner=owner):
            is_own = _is_made_by_constructor(view, op) and is_temporary(view, owner, depth + 1)
            return is_own or _is_handed_out(view, op, owner, depth)
        case _:
            return False


def outlives_object(view: ContextView, read: AttributeRead) -> bool:
    """Whether a method outlives its object, which only one local variable holds: the method is returned, or stored in an attribute."""
    held = view.made(read.owner)
    if not isinstance(held, NameRead) or not _is_released(view, held, 0):
        return False
    sinks = [value for _, value in view.returns()]
    sinks += [write.value for write in view.reached(AttributeWrite) if write.owner != read.owner]
    sinks += [kept.value for call, _ in view.calls_with(Trait.KEEPS_ARGUMENT) for kept in call.arguments]

    def parts(fact: Fact) -> Iterable[OpId]:
        match fact:
            case Display(is_comprehension=False, items=items):
                return [item.value for item in items]
            case Choice(results=results):
                return results
            case Call(op=op, arguments=arguments) if view.all_of(op, lambda each: isinstance(each, PartialValue)):
                return [argument.value for argument in arguments]
            case _:
                return ()

    return any(fact.op == read.op for sink in sinks for fact in view.behind(sink, parts))


def _makes(view: ContextView, call: OpId) -> bool:
    """Whether the result is an instance that the call allocates, and whose constructor does not pass it on."""
    made = any(found.function == view.function.id and found.op == call for found in _instances(view, call))
    return made and not any(_passes_on_self(constructor) for constructor in _callees(view, call, _CONSTRUCTOR))


def _instances(view: ContextView, number: OpId) -> Iterator[ObjectFacts]:
    for member in members(view.value(number)):
        if isinstance(member, Reference):
            found = view.facts.objects[member.object]
            if found.kind is ObjectKind.INSTANCE:
                yield found


def _callees(view: ContextView, number: OpId, name: str = "") -> Iterator[ContextView]:
    fact = view.calls.get(number)
    for context in () if fact is None else fact.callees:
        callee = view.of(context)
        if not name or callee.function.name == name:
            yield callee


def _passes_on_self(constructor: ContextView) -> bool:
    """Whether a constructor passes its object to a function or stores it: others may hold it then."""
    code = constructor.code
    own = constructor.function.parameters[0].name if constructor.function.takes_self else None
    return own is not None and any(_is_kept(constructor, read) for read in code.of_kind(NameRead) if read.name == own)


def _is_kept(view: ContextView, read: NameRead) -> bool:
    """Whether a read of a variable does more than look up an attribute of its object or return it."""
    for user in view.code.readers(read.op):
        fact = view.code.facts[user]
        is_look_up = (isinstance(fact, AttributeRead | AttributeWrite) and fact.owner == read.op) or (
            isinstance(fact, Call) and fact.owner == read.op and all(each.value != read.op for each in fact.arguments)
        )
        if (not is_look_up and not isinstance(fact, Return)) or (
            isinstance(fact, AttributeWrite) and fact.value == read.op
        ):
            return True
    return False


def _is_handed_out(view: ContextView, number: OpId, owner: OpId | None, depth: int) -> bool:
    """Whether a function of the program returns an object that it made and did not store, or the temporary object of its method."""
    for callee in _callees(view, number):
        if callee.function.name == _CONSTRUCTOR or _keeps_results(callee):
            continue
        own = callee.function.parameters[0].name if callee.function.takes_self else None
        for _, returned in callee.returns():
            made = callee.made(returned)
            if isinstance(made, NameRead) and made.name == own and not callee.code.given_to(made):
                if owner is not None and is_temporary(view, owner, depth + 1):
                    return True
            elif is_temporary(callee, returned, depth + 1) or (
                isinstance(made, NameRead) and _is_released(callee, made, depth + 1)
            ):
                return True
    return False


def _keeps_results(view: ContextView) -> bool:
    """Whether a decorator such as `functools.lru_cache` or `cached_property` holds what the function returns."""
    keeping = (Decoration.CACHED, Decoration.CACHED_PROPERTY)
    return any(decoration(name)[0] in keeping for name in view.function_facts.wrappers)


def _is_released(view: ContextView, read: NameRead, depth: int) -> bool:
    """Whether a local variable is the only one that holds its object, so that it is released when the function returns."""
    code = view.code
    return (
        read.scope is Scope.LOCAL
        and not code.has_parameter(read.name)
        and any(is_temporary(view, write.value, depth + 1) for write in code.given_to(read))
        and not any(_is_kept(view, other) for other in code.of_kind(NameRead) if other.name == read.name)
    )


def _is_made_by_constructor(view: ContextView, number: OpId) -> bool:
    """Whether the value of an attribute is an object that a constructor made."""
    makers = [found.function for found in _instances(view, number)]
    return bool(makers) and all(
        maker is not None and view.program.function(maker).name == _CONSTRUCTOR for maker in makers
    )
