"""Arrays that come from arguments: by which way an ndarray gets to the operation that uses it.

A traced function gets a tensor for each array argument, so that all that the eager code does with this array is done with a
tensor; an array that the call itself creates, or that exists before it, stays an array. Computes: for an array, or a container
or object with arrays, the parameters and captured variables from which it may come, through assignments, displays, containers,
attributes of objects made in the call, closures and calls. Needs: views of the contexts. Gives: `array_sources`,
`sources_at_call`, `carried_argument`.
Approximates: a container with an array of an argument gives that array for each item whose place is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from terra_refactor.analysis.facts import CallFact, ContextFacts, ContextId, ObjectKind
from terra_refactor.domain.value import (
    Constant,
    FrozenList,
    PartialValue,
    Reference,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.code import CodeFacts, FactType
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    ItemWrite,
    NameRead,
    NextItem,
    Operation,
    Unpacked,
)
from terra_refactor.ir.function import Function, ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Scope

_MOST_STEPS: Final = 100
_MOST_CALLS: Final = 4
_Place: TypeAlias = tuple[OpId, str]
"""A result, and the attribute of it that is read later; empty for the result itself."""
_STARS: Final = (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD)


class View(Protocol):
    """The part of a context's view (`facts.view.ContextView`, which imports this module) that this module uses."""

    calls: dict[OpId, CallFact]
    code: CodeFacts
    codes: Codes
    context: ContextFacts
    function: Function

    def of(self, context: ContextId) -> View: ...
    def made(self, number: OpId) -> Fact | None: ...
    def value(self, number: OpId) -> Value: ...
    def reached(self, *kinds: type[FactType]) -> Iterator[FactType]: ...
    def returns(self) -> Iterator[tuple[OpId, OpId]]: ...
    def origin(self, number: OpId) -> Fact | None: ...
    def given_for(self, call: Call, code: Function, name: str) -> OpId | None: ...
    def object_kind(self, value: Value) -> ObjectKind | None: ...


@dataclass(frozen=True, slots=True)
class ArraySource:
    """A variable from which an array comes."""

    name: str
    owner: FunctionId | None = None
    """The enclosing function whose variable it is; None for a parameter of the function itself."""
    is_held: bool = False
    """An attribute of the parameter's object holds the array: it becomes no tensor where the object is an argument of the graph."""
    attribute: str = ""
    """The attribute that is read of an object; empty if it is unknown, and for arrays and containers."""


class Carried(str):
    """The name of a variable that is no parameter of the function with an array, but from which the array comes."""

    __slots__ = ("source",)

    def __new__(cls, source: ArraySource) -> Carried:
        made = super().__new__(cls, source.name)
        made.source = source
        return made

    source: ArraySource


def carried_argument(view: View, number: OpId) -> str | None:
    """The parameter from which an array comes by containers, objects, closures and calls; a `Carried` if only callers know."""
    found = array_sources(view, number)
    own = next((each for each in found if each.owner is None and not each.is_held), None)
    return own.name if own is not None else Carried(found[0]) if found else None


def array_sources(view: View, number: OpId, attribute: str = "", depth: int = _MOST_CALLS) -> tuple[ArraySource, ...]:
    """The parameters and captured variables from which an array, the arrays in a container, or those in an attribute of
    an object may come.
    """
    found: dict[ArraySource, None] = {}
    pending, seen = [(number, attribute)], set[_Place]()
    while pending and len(seen) < _MOST_STEPS:
        place = pending.pop()
        if place in seen or not any(map(_may_hold_array, members(view.value(place[0])))):
            continue
        seen.add(place)
        for step in _steps(view, place, depth):
            if isinstance(step, ArraySource):
                found[step] = None
            else:
                pending.append(step)
    return tuple(found)


def _may_hold_array(value: Value) -> bool:
    match value:
        case TensorValue(kind=kind):
            return kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
        case TupleValue(elements=elements):
            return any(_may_hold_array(part) for element in elements for part in members(element))
        case SequenceValue(element=element):
            return any(map(_may_hold_array, members(element)))
        case Reference() | FrozenList():
            return True
        case _:
            return False


def _steps(view: View, place: _Place, depth: int) -> Iterator[ArraySource | _Place]:
    """The operands from which a result has its arrays, and the variables."""
    number, attribute = place
    made = view.made(number)
    call = view.calls.get(number)
    if call is not None and call.callees and depth > 0:
        for callee in call.callees:
            inner = view.of(callee)
            if inner.function.name == "__init__":
                kept = [
                    write.value for write in inner.reached(AttributeWrite) if write.name == attribute or not attribute
                ]
            else:
                kept = [returned for _, returned in inner.returns()]
            if not kept:
                # a generator, a context manager, or a constructor that leaves the work to its base class
                yield from ((each, "") for each in _inputs(view, number))
            for value in kept:
                for source in array_sources(
                    inner, value, "" if inner.function.name == "__init__" else attribute, depth - 1
                ):
                    yield from passed_for(view, number, inner.function, source)
        if not call.library:
            return
    match made:
        case NameRead(scope=Scope.GLOBAL):
            return
        case NameRead(is_captured=True, name=name):
            outer = _owner_of(view, name)
            if outer is not None:
                yield ArraySource(name, outer, attribute=attribute)
        case NameRead(name=name):
            yield from _variable(view, name, attribute, made)
        case Unpacked(source=whole, position=position):
            yield _item(view, whole, position) or (whole, "")
        case ItemRead(owner=whole, index=index):
            at = view.value(index)
            known = _item(view, whole, at.value) if isinstance(at, Constant) else None
            yield known or (whole, "")
        case NextItem(source=int() as whole):
            yield whole, ""
        case AttributeRead(owner=owner, name=name):
            yield owner, name
        case Display(items=items):
            yield from ((item.value, "") for item in items)
        case Operation(sides=sides):
            yield from ((side, "") for side in sides)
        case Choice(results=results):
            yield from ((result, attribute) for result in results)
        case Call():
            yield from ((each, "") for each in _inputs(view, number))


def _item(view: View, whole: OpId, key: object) -> _Place | None:
    """The item of a display with a position or key, if nothing else changes the container; None if unknown."""
    display, read = view.origin(whole), view.made(whole)
    if not isinstance(display, Display) or display.is_comprehension or any(item.starred for item in display.items):
        return None
    if isinstance(read, NameRead) and any(True for _ in _changes(view, read.name)):
        return None
    if display.is_sequence:
        is_place = isinstance(key, int) and -len(display.items) <= key < len(display.items)
        return (display.items[key].value, "") if is_place and isinstance(key, int) else None
    places: list[OpId] = []
    for item in display.items:
        own = None if item.key is None else view.value(item.key)
        if not isinstance(own, Constant):
            return None
        if own.value == key:
            places.append(item.value)
    return (places[-1], "") if places else None


def _changes(view: View, name: str, attribute: str = "") -> Iterator[OpId]:
    """The values that are put into the container or object of a variable."""
    for write in view.code.of_kind(AttributeWrite):
        if write.name == attribute or not attribute:
            if _is_named(view, write.owner, name):
                yield write.value
    yield from (write.value for write in view.code.of_kind(ItemWrite) if _is_named(view, write.owner, name))
    for call in view.code.of_kind(Call):
        if call.owner is not None and _is_named(view, call.owner, name):
            yield from (argument.value for argument in call.arguments)


def _variable(
    view: View, name: str, attribute: str = "", read: NameRead | None = None
) -> Iterator[ArraySource | _Place]:
    """The values of a variable of the function that a read, or an inner function, may see, and what is put into them."""
    writes = view.code.writes.get(name, ()) if read is None else view.code.given_to(read)
    given = view.context.parameters.get(name) if view.code.has_parameter(name) else None
    if given is not None and not (read is not None and any(_is_before(view, write.op, read.op) for write in writes)):
        # after an assignment in a branch it is its argument still if it may have the same value
        now = {_kind(member) for member in members(view.value(read.op))} if read is not None and writes else None
        if now is None or any(_kind(member) in now for member in members(given)):
            is_held = all(_is_instance(view, member) for member in members(given))
            yield ArraySource(name, is_held=is_held, attribute=attribute)
    yield from ((write.value, attribute) for write in writes)
    yield from ((value, "") for value in _changes(view, name, attribute))


def _is_before(view: View, write: OpId, read: OpId) -> bool:
    """Whether an assignment certainly precedes a read: it is in no side of a branch, and no loop, that does not contain the read."""
    return write < read and all(
        any(part.start <= write < part.end and part.start <= read < part.end for part in region.parts)
        for region in view.code.around(write)
    )


def _is_named(view: View, number: OpId, name: str) -> bool:
    held = view.code.facts[number]
    return isinstance(held, NameRead) and held.name == name


def _kind(value: Value) -> object:
    """The object of a reference, the kind and type of a tensor, the class of another value."""
    match value:
        case TensorValue():
            return value.kind, value.type
        case Reference():
            return value.object
        case _:
            return type(value)


def _is_instance(view: View, value: Value) -> bool:
    return isinstance(value, Reference) and view.object_kind(value) is ObjectKind.INSTANCE


def _owner_of(view: View, name: str) -> FunctionId | None:
    """The enclosing function whose variable a captured name is."""
    parent = view.function.parent
    while parent is not None:
        code = view.codes.of(parent)
        if code.has_parameter(name) or name in code.writes:
            return parent
        parent = code.function.parent
    return None


def _inputs(view: View, number: OpId) -> Iterator[OpId]:
    """The operands of an operation; of a call the receiver and the arguments, also those of a partial function."""
    made = view.made(number)
    if not isinstance(made, Call):
        yield from view.code.inputs(number)
        return
    if made.owner is not None:
        yield made.owner
    yield from (argument.value for argument in made.arguments)
    partial = view.origin(made.function)
    if isinstance(partial, Call) and any(isinstance(each, PartialValue) for each in members(view.value(made.function))):
        yield from (argument.value for argument in partial.arguments)


def given_for(view: View, number: OpId, code: Function, name: str) -> Iterable[OpId]:
    """The operands from which a parameter of a callee of the program has its value."""
    made, call = view.made(number), view.calls.get(number)
    if not isinstance(made, Call) or (call is not None and call.library):
        return tuple(_inputs(view, number))
    explicit = view.given_for(made, code, name)
    if explicit is not None:
        return (explicit,)
    if code.takes_self and code.parameters[0].name == name:
        return (made.function if made.owner is None else made.owner,)
    if made.is_plain and not any(isinstance(each, PartialValue) for each in members(view.value(made.function))):
        maker = view.code.maker_of(code.id)
        default = None if maker is None else dict(maker.defaults).get(name)
        if default is not None:
            return (default,)
        stars = [parameter for parameter in code.parameters if parameter.name == name and parameter.kind in _STARS]
        return tuple(argument.value for argument in made.arguments) if stars else ()
    return tuple(_inputs(view, number))


def passed_for(view: View, number: OpId, code: Function, source: ArraySource) -> Iterator[ArraySource | _Place]:
    """The operands and variables of a caller from which a callee has the arrays of one of its sources."""
    if source.owner is None:
        yield from ((each, source.attribute) for each in given_for(view, number, code, source.name))
    elif source.owner == view.function.id:
        yield from _variable(view, source.name, source.attribute)
    else:
        # a function that another one made and returned: what it captures came to that call
        making = [
            call
            for call in view.calls.values()
            if any(view.of(callee).function.id == source.owner for callee in call.callees)
        ]
        for call in making:
            owner = view.codes.of(source.owner).function
            for each in given_for(view, call.op, owner, source.name):
                yield each, source.attribute
        if not making:
            yield source


def sources_at_call(view: View, number: OpId, code: Function, source: ArraySource) -> tuple[ArraySource, ...]:
    """The variables of a caller from which a callee has the arrays of one of its sources, its own parameters first."""
    found: dict[ArraySource, None] = {}
    for step in passed_for(view, number, code, source):
        for each in (step,) if isinstance(step, ArraySource) else array_sources(view, *step):
            found[each] = None
    return tuple(sorted(found, key=lambda each: (each.owner is not None, each.is_held)))
