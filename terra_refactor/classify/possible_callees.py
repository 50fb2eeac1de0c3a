"""Possible callees of a call on an unknown object: methods of the program's classes with that name.

Computes: for `self.exploration.explore(...)`, where the class of `self.exploration` is unknown, the classes of the
program that define `explore`, with parameters that fit the call, and the other methods that are called on it; for
`self.exploration.rate`, the properties of that name. Needs: a `ContextView`. Gives: `possible_callees`,
`possible_properties`, `PossibleCallee`. Ignores: subclasses that inherit the method; objects whose methods many classes
define; metaclasses that replace methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import CallFact
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import Reference, UnknownValue, Value, members
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import ClassOutline
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call, Choice, Fact, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId

_MOST: Final = 6
"""Maximum number of classes with the method; a more common name does not identify the class."""
_OF_OBJECTS: Final = "__call__"
_OF_LAYERS: Final = "call"
_CALLED: Final = (_OF_OBJECTS, _OF_LAYERS)
_OF_KERAS: Final = frozenset({"training", "mask", "initial_state", "constants"})
_STATIC, _CLASS = "staticmethod", "classmethod"
_KEEP_SIGNATURE: Final = frozenset({_STATIC, _CLASS, "abstractmethod"})


@dataclass(frozen=True, slots=True)
class PossibleCallee:
    """A method that a call may run.

    Attributes:
        cls: the name of its class.
        owner: the object, as written.
    """

    function: FunctionId
    cls: str
    owner: str


def possible_callees(view: ContextView, call: CallFact) -> Iterator[PossibleCallee]:
    """The methods that a call may run in addition to the known ones; none if too many classes have methods of that name.

    The object is unknown, or only the default of a parameter shows its class.
    """
    made = view.made(call.op)
    if not isinstance(made, Call):
        return
    method = view.made(made.function)
    if call.unknown is None:
        holder = method.owner if isinstance(method, AttributeRead) else made.function
        holders = {made.function: _CALLED, holder: (method.name,) if isinstance(method, AttributeRead) else _CALLED}
        known = {view.facts.contexts[each].function for each in call.callees} | {view.function.id}
        for number, names in holders.items() if call.callees else ():
            is_only = all(function in known for name in names for function in view.codes.functions_named(name))
            if not is_only and shown_by_default(view, number):
                others = [
                    (name, function)
                    for name, function in _with_methods(view, number, names)
                    if function not in known and _may_accept(view, function, made)
                ]
                for name, function in others if len(others) <= _MOST else ():
                    yield PossibleCallee(function, name, view.written(number))
        return
    # `x.m(...)` calls a method of `x`; or it calls `x.m` itself, if that is an object
    of_method = isinstance(method, AttributeRead) and view.all_of(method.owner, _is_unknown)
    if isinstance(method, AttributeRead) and of_method:
        found = list(_with_methods(view, method.owner, (method.name,)))
        owner = method.owner
    else:
        found, owner = [], made.function
    if not found and isinstance(view.made(made.function), AttributeRead | NameRead):
        if view.all_of(made.function, _is_unknown):
            found, owner = list(_with_methods(view, made.function, _CALLED)), made.function
    if len(found) <= _MOST:
        for name, function in found:
            if function != view.function.id and _may_accept(view, function, made):
                yield PossibleCallee(function, name, view.written(owner))


def possible_properties(view: ContextView, read: AttributeRead) -> Iterator[PossibleCallee]:
    """The properties that a read of an attribute of an unknown object may run; none if too many classes have one of that name."""
    named = map(view.program.function, view.codes.functions_named(read.name))
    properties = {each.id for each in named if any(_makes_property(decorator.text) for decorator in each.decorators)}
    if not properties or not view.all_of(read.owner, _is_unknown):
        return
    found = [each for each in _with_methods(view, read.owner, (read.name,)) if each[1] in properties]
    for name, function in found if len(found) <= _MOST else ():
        if function != view.function.id:
            yield PossibleCallee(function, name, view.written(read.owner))


def shown_by_default(view: ContextView, number: OpId) -> bool:
    """Whether an object is, or is stored from, a parameter without known arguments, of which only the default shows the class."""
    held = view.made(number)
    if isinstance(held, NameRead):
        return held.is_local and _has_object_by_default(view, held.name)
    if not isinstance(held, AttributeRead):
        return False
    return any(
        _has_object_by_default(view.of(context.id), read.name)
        for setter in view.codes.writers_of(held.name)
        if view.program.function(setter).parent == view.function.parent
        for write in view.codes.of(setter).of_kind(AttributeWrite)
        if write.name == held.name
        for context in view.facts.contexts_of(setter)
        for read in view.of(context.id).behind(write.value, _alternatives)
        if isinstance(read, NameRead) and read.is_local
    )


def _has_object_by_default(view: ContextView, name: str) -> bool:
    return any(
        parameter.name == name
        and parameter.evidence is Evidence.DEFAULT
        and any(isinstance(member, Reference) for value in parameter.values for member in members(value))
        for parameter in view.function_facts.parameters
    )


def _alternatives(fact: Fact) -> tuple[OpId, ...]:
    return fact.results if isinstance(fact, Choice) else ()


def _makes_property(decorator: str) -> bool:
    """Whether a decorator, as written, makes a property of a method."""
    return decorator.rpartition(".")[2] in ("property", "cached_property")


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and not value.reason


def _with_methods(view: ContextView, owner: OpId, names: tuple[str, ...]) -> Iterator[tuple[str, FunctionId]]:
    """The classes that define one of these methods and all other methods called on the object, each with the method."""
    named = [each for name in names for each in view.codes.functions_named(name)]
    # most calls are of methods that no class of the program has
    called = _called_on(view, view.code.facts[owner]) if named else frozenset()
    for function in map(view.program.function, named):
        body = None if function.parent is None else view.program.function(function.parent)
        if body is None or body.kind is not FunctionKind.CLASS_BODY:
            continue
        outline = next((each for each in view.codes.classes_named(body.name) if each.body == body.id), None)
        if outline is not None and (all(map(outline.defines, sorted(called))) or _has_bases(view, outline)):
            yield body.name, function.id


def _may_accept(view: ContextView, function: FunctionId, call: Call) -> bool:
    """Whether the parameters of a method fit a call on an object, or on its class; True if its signature may not be the written one.

    Another call raises TypeError before the method runs.
    """
    method = view.program.function(function)
    decorators = [decorator.text.rpartition(".")[2] for decorator in method.decorators]
    if not call.is_plain or not _KEEP_SIGNATURE.issuperset(decorators) or _is_replaced(view, method):
        return True
    keywords = {argument.keyword for argument in call.arguments if argument.keyword is not None}
    if method.name == _OF_LAYERS:
        # Keras takes these itself, and passes them only to methods that have them
        keywords -= _OF_KERAS
    given = len(call.positional)
    if _STATIC in decorators:
        return method.accepts(given, keywords)
    is_of_class = _CLASS in decorators or method.name == _OF_OBJECTS
    return method.accepts(given + 1, keywords) or (not is_of_class and method.accepts(given, keywords))


def _is_replaced(view: ContextView, method: Function) -> bool:
    """Whether something else than its `def` may set the method, or a decorator of the class change it."""
    assert method.parent is not None
    body = view.codes.of(method.parent)
    outline = next((each for each in view.codes.classes_named(body.function.name) if each.body == method.parent), None)
    return (
        outline is None
        or bool(outline.decorators)
        or len(body.writes.get(method.name, ())) != 1
        or bool(view.codes.writers_of(method.name))
    )


def _called_on(view: ContextView, holder: Fact | None) -> frozenset[str]:
    """The names of the methods that the function, or another method of its class, calls on the object stored under a name."""
    codes = [view.code]
    if isinstance(holder, AttributeRead) and view.function.takes_self:
        siblings = view.program.modules[view.function.id.module].functions
        codes += [view.codes.of(each.id) for each in siblings if each.parent == view.function.parent]
    return frozenset(name for code in codes for name in _called_in(code, holder))


def _called_in(code: CodeFacts, holder: Fact | None) -> Iterator[str]:
    for call in code.of_kind(Call):
        owner = None if call.owner is None else code.facts[call.owner]
        if call.method is not None and isinstance(owner, AttributeRead | NameRead) and type(owner) is type(holder):
            if isinstance(holder, AttributeRead | NameRead) and owner.name == holder.name:
                yield call.method


def _has_bases(view: ContextView, outline: ClassOutline) -> bool:
    parent = view.program.function(outline.body).parent
    made = None if parent is None else view.codes.class_made_of(parent, outline.body)
    return made is not None and bool(made.bases)
