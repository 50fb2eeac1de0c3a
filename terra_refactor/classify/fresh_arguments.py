"""Arguments that are different objects in each call, which would cause a trace for each.

Computes: whether the calls of a function pass, for some parameter, an object that is created for the call. Needs: the code and values of
its callers. Gives: `Freshness`, `freshness`. Ignores: whether the callers are graphs, which call only while they are traced, since a run
of `fix` may change that; numbers, which `candidates` handles. TensorFlow distinguishes functions, bound methods, partials, iterators and
objects by identity: `model.step` and `lambda: ...` are new objects each time they are evaluated, and lists of different lengths are
different structures (`tests/proof/test_arguments_of_graphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import EntryKind, ObjectFacts, ObjectKind, ProgramFacts
from terra_refactor.analysis.testing import is_in_test_file
from terra_refactor.domain.lattice import TOO_MANY
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    FrozenList,
    FunctionValue,
    PartialValue,
    Reference,
    Scalar,
    SequenceValue,
    SuperValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Container,
    Display,
    Fact,
    FunctionMade,
    ItemRead,
    ItemWrite,
    NameRead,
    Operation,
    Region,
    RegionKind,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.graph_failures.rebuilt_argument import is_attrs_class
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 6
_ITERATORS: Final = frozenset({"generator", "iterator", "iter", "zip", "map", "filter", "enumerate", "reversed"})
"""The kinds of `SequenceValue` that are iterators."""
_RESIZES: Final = frozenset({"append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "update"})


class Freshness(IntEnum):
    """How often calls pass another argument."""

    NEVER = 0
    SOMETIMES = 1
    """Unknown: created once for several calls, whose number is unknown."""
    ALWAYS = 2
    REFUSED = 3
    """A view of a dict: a traced function rejects it, and lists of it."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The parameter with the freshest arguments, and their source text in the call."""

    how: Freshness
    parameter: str = ""
    written: str = ""


FreshParameter: TypeAlias = tuple[FunctionId, str, int]
"""A parameter of a function, and the number of calls that the query has already followed."""
AskFresh: TypeAlias = Callable[[FreshParameter], Fresh]


def freshness(code: Function, ask: AskFresh) -> Fresh:
    """The freshest arguments of a function. Answers about callers are cached, because many paths lead to the same caller."""
    own = 1 if code.takes_self else 0
    found = [ask((code.id, parameter.name, 0)) for parameter in code.parameters[own:]]
    found += [ask((code.id, parameter.name, 0)) for parameter in code.parameters[:own]]
    return max(found, key=lambda fresh: fresh.how, default=Fresh(Freshness.NEVER))


def runs_once(codes: Codes, facts: ProgramFacts, identity: FunctionId, depth: int = 0) -> bool:
    """Whether the program has one call of a function, outside of loops, in code that runs once itself."""
    if codes.program.function(identity).kind is FunctionKind.MODULE:
        return True
    found = facts.functions[identity]
    if depth > _MAX_DEPTH or found.open_callers or found.recursive:
        return False
    places = {(facts.function_of(caller.context), caller.op) for caller in found.callers}
    if len(places) != 1 or any(each.entry is not EntryKind.CALLED for each in facts.contexts_of(identity)):
        return False
    ((caller, op),) = places
    return not _loops_around(codes, caller, op) and runs_once(codes, facts, caller, depth + 1)


def brought_by_callers(codes: Codes, facts: ProgramFacts, about: FreshParameter, ask: AskFresh) -> Fresh:
    """The arguments that the callers of a function pass for a parameter."""
    identity, name, depth = about
    code = codes.program.function(identity)
    worst = Fresh(Freshness.NEVER, name)
    contexts = facts.contexts_of(identity) if depth < _MAX_DEPTH else ()
    calls = ContextView(codes, facts, contexts[0]).calls_of_function() if contexts else ()
    own: list[bool] = []
    for view, call in calls:
        # a caller that is a graph counts, too: an earlier run may have made it one
        if call is None or view.function.id == identity:
            continue
        if code.takes_self and name == code.parameters[0].name and view.is_bound(call, code):
            # a test makes its own object, and needs no speed
            if is_in_test_file(codes.program, view.function):
                continue
            given = _own_object(call)
            own.append(_is_new_object(view, call, given, depth, ask))
            how = Freshness.ALWAYS if own[-1] else Freshness.NEVER
        else:
            number = view.given_for(call, code, name)
            if number is None:
                continue
            given, how = number, _freshness_of(view, call.op, number, depth, ask)
        if how > worst.how:
            worst = Fresh(how, name, view.written(given))
    if any(own) and not all(own):
        # other calls use an object that is kept
        return Fresh(Freshness.SOMETIMES, name, worst.written)
    return worst


def _is_new_object(view: ContextView, call: Call, number: OpId, depth: int, ask: AskFresh) -> bool:
    """Whether each call of a method has a new object. One that serves several calls is the ordinary case."""
    caller = _own_parameter(view, number)
    if caller is None:
        return _freshness_of(view, call.op, number, depth, ask) is Freshness.ALWAYS
    is_repeated = view.innermost_loop(call.op) is not None
    return not is_repeated and ask((view.function.id, caller, depth + 1)).how is Freshness.ALWAYS


def _own_object(call: Call) -> OpId:
    """The object on which a method is called: `a` in `a.step(x)`, and in `a(x)`."""
    return call.function if call.owner is None else call.owner


def _own_parameter(view: ContextView, number: OpId) -> str | None:
    """The caller's own object, if it calls another method of it, or one of its base class by `super()`."""
    if not view.function.takes_self:
        return None
    name, made = view.function.parameters[0].name, view.made(number)
    is_it = isinstance(made, NameRead) and made.name == name and name not in view.code.writes
    return name if is_it or view.any_of(number, lambda each: isinstance(each, SuperValue)) else None


def _freshness_of(view: ContextView, call: OpId, number: OpId, depth: int, ask: AskFresh) -> Freshness:
    made = view.origin(number)
    alternatives = members(view.value(number))
    match made:
        case Display(is_comprehension=False, items=items):
            held = (*(item.value for item in items), *_objects_put_into(view, made.op))
            elements = (_freshness_of_element(view, call, each, depth, ask) for each in held)
            return max((*elements, _is_resized(view, call, alternatives, made.op)), default=Freshness.NEVER)
        case Display(kind=Container.GENERATOR, op=op):
            return _related(view, call, op, Freshness.ALWAYS)
        case Display(op=op):
            return _related(view, call, op, _freshness_of_collected(view, made, depth, ask))
        case Call(op=op, arguments=arguments):
            if any(_is_attrs_object(view, member) for member in alternatives):
                # a structure, which is distinguished by its content
                fields = (_freshness_of_element(view, call, each.value, depth, ask) for each in arguments)
                return max(fields, default=Freshness.NEVER)
            if _is_view_of_dict(view, made):
                return Freshness.REFUSED
            if _is_iterator(view, made) or any(map(_is_one_of_many, alternatives)):
                return _related(view, call, op, Freshness.ALWAYS)
        case NameRead(name=name, is_local=True) if view.code.has_parameter(name) and any(
            map(_may_be_view, alternatives)
        ):
            if ask((view.function.id, name, depth + 1)).how is Freshness.REFUSED:
                return Freshness.REFUSED
        case _:
            pass
    if any(_is_told_by_identity(view, member) for member in alternatives):
        return _freshness_by_identity(view, call, number, depth, ask)
    resized = _is_resized(view, call, alternatives)
    if any(_is_given_list(view, member) or _is_list_of_objects(view, member) for member in alternatives):
        return max(resized, _freshness_by_identity(view, call, number, depth, ask))
    return resized


def _freshness_by_identity(view: ContextView, call: OpId, number: OpId, depth: int, ask: AskFresh) -> Freshness:
    """Freshness of an object, or of a list of objects."""
    made, alternatives = view.origin(number), members(view.value(number))
    match made:
        case NameRead(name=name, is_local=True):
            found = [
                _related(view, call, write.value, _freshness_of(view, write.value, write.value, depth + 1, ask))
                for write in view.code.writes.get(name, ())
                if depth < _MAX_DEPTH
            ]
            if view.code.has_parameter(name):
                given = ask((view.function.id, name, depth + 1)).how
                repeated = view.innermost_loop(call) is not None
                found.append(min(given, Freshness.SOMETIMES) if repeated else given)
            return max(found, default=Freshness.NEVER)
        case NameRead(is_captured=is_captured):
            told = any(_is_told_by_identity(view, each) or _is_list_of_objects(view, each) for each in alternatives)
            return Freshness.SOMETIMES if is_captured and told else Freshness.NEVER
        case _:
            return max((_made(view, call, number, made, member) for member in alternatives), default=Freshness.NEVER)


def _freshness_of_collected(view: ContextView, made: Display, depth: int, ask: AskFresh) -> Freshness:
    """The elements of a comprehension: unknown Python numbers differ in each call."""
    worst = Freshness.NEVER
    for item in made.items:
        if view.any_of(item.value, _is_open_number):
            how = Freshness.ALWAYS
        else:
            how = _freshness_of(view, item.value, item.value, depth + 1, ask)
        worst = max(worst, how if depth < _MAX_DEPTH else Freshness.SOMETIMES)
    return worst


def _is_open_number(value: Value) -> bool:
    return isinstance(value, Scalar) and not value.symbolic


def _freshness_of_element(view: ContextView, call: OpId, number: OpId, depth: int, ask: AskFresh) -> Freshness:
    """The elements of a display: changing numbers in it give different structures."""
    if view.any_of(number, _is_open_number):
        loop = view.innermost_loop(call)
        changes = loop is not None and view.changes_in(loop, number)
        return Freshness.ALWAYS if changes else Freshness.SOMETIMES
    return _freshness_of(view, call, number, depth + 1, ask) if depth < _MAX_DEPTH else Freshness.SOMETIMES


def _is_attrs_object(view: ContextView, value: Value) -> bool:
    name = view.facts.objects[value.object].name if isinstance(value, Reference) else None
    return name is not None and any(is_attrs_class(view, each) for each in view.codes.classes_named(name))


def _is_view_of_dict(view: ContextView, call: Call) -> bool:
    is_view = call.method in ("keys", "values", "items") and not call.arguments
    return is_view and call.owner is not None and view.is_object(call.owner, ObjectKind.DICT)


def _may_be_view(value: Value) -> bool:
    """Whether a value may be a view of a dict passed on by a caller; one with known items is an ordinary sequence."""
    return isinstance(value, TupleValue | FrozenList | SequenceValue)


def _is_iterator(view: ContextView, call: Call) -> bool:
    """Whether the call creates an iterator, including one with known elements."""
    return any(has_trait(name, Trait.MAKES_ITERATOR) for name in view.library_of(call.op))


def _is_one_of_many(value: Value) -> bool:
    """Whether it is an object from a call that creates a new one each time, about which nothing else is known."""
    return isinstance(value, UnknownValue) and value.reason == TOO_MANY


def _is_told_by_identity(view: ContextView, value: Value) -> bool:
    match value:
        case FunctionValue() | BoundMethod() | PartialValue():
            # a traced method is stored with its object; but additions in this run must not change the result here
            return True
        case Reference():
            return view.facts.objects[value.object].kind in (ObjectKind.INSTANCE, ObjectKind.ITERATOR)
        case SequenceValue():
            return value.kind in _ITERATORS
        case _:
            return False


def _is_list_of_objects(view: ContextView, value: Value) -> bool:
    """Whether it is a list that a function of the program creates and fills with objects, each of which is part of the
    trace key.
    """
    if not isinstance(value, Reference):
        return False
    made = view.facts.objects[value.object]
    if made.kind is not ObjectKind.LIST or made.function is None or made.op is None:
        return False
    if view.program.function(made.function).kind is FunctionKind.MODULE:
        return False
    if not any(each.method in _RESIZES for each in view.codes.of(made.function).of_kind(Call)):
        return False
    for context in view.facts.contexts_of(made.function):
        maker = view if context.id == view.context.id else ContextView(view.codes, view.facts, context)
        if any(True for _ in _objects_put_into(maker, made.op)):
            return True
    return False


def _objects_put_into(view: ContextView, place: OpId) -> Iterator[OpId]:
    """The objects that the function puts into a list that it creates at a place."""
    for call, _ in view.calls_with(Trait.FILLS_LIST):
        if call.owner is None or not call.arguments or not _is_made_at(view, call.owner, place):
            continue
        put = call.arguments[-1].value
        if view.any_of(put, lambda each: _is_told_by_identity(view, each)):
            yield put


def _is_given_list(view: ContextView, value: Value) -> bool:
    """Whether it is a list from the caller, whose content only the caller knows."""
    made = view.facts.objects[value.object] if isinstance(value, Reference) else None
    return made is not None and made.kind is ObjectKind.LIST and made.function is None


def _is_made_at(view: ContextView, number: OpId, place: OpId) -> bool:
    """Whether a value may be a container created by an operation of the function."""
    objects = (view.facts.objects[each.object] for each in members(view.value(number)) if isinstance(each, Reference))
    return any((each.function, each.op) == (view.function.id, place) for each in objects)


def _made(view: ContextView, call: OpId, number: OpId, made: Fact | None, value: Value) -> Freshness:
    """The freshness of a value that an operation of the caller returns."""
    place = number if made is None else made.op
    if _is_list_of_objects(view, value):
        return Freshness.NEVER if isinstance(made, AttributeRead) else _related(view, call, place, Freshness.ALWAYS)
    match made, value:
        case AttributeRead(), BoundMethod():
            how = Freshness.ALWAYS
        case AttributeRead() | ItemRead(), _:
            how = Freshness.NEVER
        case _, FunctionValue(function=function):
            parent = view.program.function(FunctionId(*function)).parent
            at_top = parent is None or view.program.function(parent).kind is FunctionKind.MODULE
            how = Freshness.NEVER if at_top and not isinstance(made, FunctionMade) else Freshness.ALWAYS
        case _, PartialValue() | SequenceValue():
            how = Freshness.ALWAYS
        case Call() | Display(), Reference(object=instance):
            facts = view.facts.objects[instance]
            is_made_here = (facts.function, facts.op) == (view.function.id, place) or (
                isinstance(made, Call) and _is_made_by_callee(view, made, facts)
            )
            if facts.function is None or view.program.function(facts.function).kind is FunctionKind.MODULE:
                how = Freshness.ALWAYS if is_made_here else Freshness.NEVER
            else:
                how = Freshness.ALWAYS if is_made_here else Freshness.SOMETIMES
        case _:
            how = Freshness.NEVER
    return _related(view, call, place, how)


def _is_made_by_callee(view: ContextView, call: Call, made: ObjectFacts) -> bool:
    """Whether every function that is called creates the object in the expression that it returns: a new one in each call."""
    found = view.calls.get(call.op)
    callees = () if found is None else found.callees
    return bool(callees) and all(
        inner.function.id == made.function
        and all(getattr(inner.origin(value), "op", None) == made.op for _, value in inner.returns())
        for inner in map(view.of, callees)
    )


def _related(view: ContextView, call: OpId, made: OpId, how: Freshness) -> Freshness:
    """How often an object created there differs between calls."""
    if how is Freshness.NEVER:
        return how
    here = view.function.id
    once = runs_once(view.codes, view.facts, here)
    around_making = _loops_around(view.codes, here, made)
    around_call = _loops_around(view.codes, here, call)
    if once and not around_making:
        return Freshness.NEVER
    return min(how, Freshness.SOMETIMES) if around_call - around_making else how


def _loops_around(codes: Codes, identity: FunctionId, op: OpId) -> frozenset[OpId]:
    return frozenset(loop.op for loop in codes.of(identity).loops_around(op))


def _is_resized(view: ContextView, call: OpId, given: tuple[Value, ...], display: OpId | None = None) -> Freshness:
    """Whether a list or dict changes its length between the calls of a loop.

    The many objects that one display creates in nested loops are known only by its place.
    """
    containers = {
        member.object
        for member in given
        if isinstance(member, Reference) and view.facts.objects[member.object].container_class is not None
    }
    place = display if any(map(_is_one_of_many, given)) else None
    often = Freshness.NEVER
    around = _loops_around(view.codes, view.function.id, call)
    for other, resized in _resizings(view) if (containers or place is not None) and around else ():
        same = any(isinstance(each, Reference) and each.object in containers for each in members(view.value(resized)))
        same = same or (place is not None and getattr(view.origin(resized), "op", None) == place)
        # a list created in the loop is filled in it, too
        objects = [view.facts.objects[number] for number in containers]
        made = {each.op for each in objects if each.function == view.function.id} | ({place} - {None})
        inside = any(op is not None and _loops_around(view.codes, view.function.id, op) & around for op in made)
        filling = _loops_around(view.codes, view.function.id, other)
        if same and not inside and filling & around:
            return Freshness.ALWAYS
        # in its own `while` loop it gets another length each time
        making = frozenset[OpId]().union(
            *(_loops_around(view.codes, view.function.id, op) for op in made if op is not None)
        )
        if same and inside and any(view.code.regions[loop].kind is RegionKind.WHILE for loop in filling - making):
            return Freshness.ALWAYS
        if same and inside:
            places = [op for op in made if op is not None]
            tests = [
                *_tests_of_filling(view, other, places, filling - making),
                *_tests_of_call(view, call, other, places),
            ]
            often = max((often, *(_of_test(view, test) for test in tests)))
    return often


def _tests_of_filling(
    view: ContextView, filling: OpId, made: Iterable[OpId], loops: frozenset[OpId]
) -> Iterator[OpId | None]:
    """The conditions that skip an operation which adds to a list, or end its loop early."""
    yield from (region.subject for region in _ifs_around(view, filling) if not any(map(region.holds, made)))
    for loop in loops:
        ending = (*view.code.skipping.get(loop, ()), *view.code.leaving.get(loop, ()))
        yield from (view.code.regions[op].subject for op in ending)


def _tests_of_call(view: ContextView, call: OpId, filling: OpId, made: Iterable[OpId]) -> Iterator[OpId | None]:
    """For a list that is filled over several iterations: the conditions of the call, except those on the length of a list; None
    if it has no condition, so that the list grows from call to call.
    """
    outside = {region.op for region in _ifs_around(view, filling)}
    loop = view.innermost_loop(filling)
    if loop is None or not any(
        loop.holds(place) and any(region.op not in outside for region in _ifs_around(view, place)) for place in made
    ):
        return
    deciding = [region.subject for region in _ifs_around(view, call) if region.op not in outside]
    if not deciding:
        yield None
    yield from (test for test in deciding if test is not None and not _is_of_length(view, test))


def _ifs_around(view: ContextView, number: OpId) -> list[Region]:
    return [region for region in view.code.around(number) if region.kind is RegionKind.IF]


def _is_of_length(view: ContextView, test: OpId) -> bool:
    fact = view.origin(test)
    return isinstance(fact, Operation) and any(
        isinstance(side, Call) and view.library_of(side.op) and side.called_name == "len"
        for side in map(view.origin, fact.sides)
    )


def _of_test(view: ContextView, test: OpId | None) -> Freshness:
    """How often a condition differs from call to call: usually, if unknown code or a tensor decides it."""
    if test is None:
        return Freshness.ALWAYS
    if view.all_of(test, lambda each: isinstance(each, Constant)):
        return Freshness.NEVER
    return (
        Freshness.SOMETIMES if view.all_of(test, lambda each: isinstance(each, Constant | Scalar)) else Freshness.ALWAYS
    )


def _resizings(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The operations that may change the length of a container, with the container."""
    for call in view.code.of_kind(Call):
        if call.owner is not None and call.method in _RESIZES:
            yield call.op, call.owner
    for write in view.code.of_kind(ItemWrite):
        # assigning an item of a list keeps its length; a computed key may be a new one
        if view.any_of(write.owner, lambda each: view.object_kind(each) is ObjectKind.DICT):
            if not isinstance(view.value(write.index), Constant):
                yield write.op, write.owner
