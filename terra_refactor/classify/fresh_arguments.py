"""Arguments that are others in each call, though they may do the same: a graph would be traced for each.

Computes: whether the calls of a function bring, for some parameter, an object that is made for the call. Needs: the code and values
of its callers. Gives: `Freshness`, `freshness`. Ignores: whether the callers are graphs, who call while they are traced, since that
is for a run of `fix` to change; numbers, which `candidates` looks at.

TensorFlow tells functions, bound methods, partials, iterators and objects apart by identity: `model.step` and `lambda: ...` are other
objects each time they are evaluated, and lists of another length are other structures (`tests/proof/test_arguments_of_graphs.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import ContextId, EntryKind, ObjectKind, ProgramFacts
from terra_refactor.domain.lattice import TOO_MANY
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    FunctionValue,
    PartialValue,
    Reference,
    Scalar,
    SequenceValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.graph_failures.rebuilt_argument import is_attrs_class
from terra_refactor.rules.view import Codes, ContextView

_MAX_DEPTH: Final = 6
_ITERATORS: Final = frozenset({"generator", "iterator", "iter", "zip", "map", "filter", "enumerate", "reversed"})
_RESIZES: Final = frozenset({"append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "update"})


class Freshness(IntEnum):
    """How often calls bring another argument."""

    NEVER = 0
    SOMETIMES = 1
    """Nobody can tell: made once for several calls, of which nothing says how many there are."""
    ALWAYS = 2
    REFUSED = 3
    """A view of a dict: a traced function cannot take it, nor can lists of it."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The parameter with the freshest arguments, and how they are written in the call."""

    how: Freshness
    parameter: str = ""
    written: str = ""


def freshness(codes: Codes, facts: ProgramFacts, code: Function) -> Fresh:
    """The freshest arguments of a function."""
    own = 1 if code.kind is FunctionKind.METHOD else 0
    known: _Known = {}
    found = [_of_parameter(codes, facts, code.id, parameter.name, 0, known) for parameter in code.parameters[own:]]
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


_Known: TypeAlias = dict[tuple[FunctionId, str, int], Fresh]
"""Answers by function, parameter and depth: many ways lead up to the same caller."""


def _of_parameter(
    codes: Codes, facts: ProgramFacts, identity: FunctionId, name: str, depth: int, known: _Known
) -> Fresh:
    key = identity, name, depth
    if key not in known:
        known[key] = _by_callers(codes, facts, identity, name, depth, known)
    return known[key]


def _by_callers(codes: Codes, facts: ProgramFacts, identity: FunctionId, name: str, depth: int, known: _Known) -> Fresh:
    code = codes.program.function(identity)
    worst = Fresh(Freshness.NEVER, name)
    views: dict[
        ContextId, ContextView
    ] = {}  # thousands of calls may stand in one module, and a view costs what all its calls do
    for caller in facts.functions[identity].callers if depth < _MAX_DEPTH else ():
        context = facts.contexts[caller.context]
        call = codes.of(context.function).ops[caller.op]
        # a caller that is a graph counts as well: it may have become one by an earlier run
        if not isinstance(call, ops.Call) or context.function == identity:
            continue
        if context.id not in views:
            views[context.id] = ContextView(codes, facts, context)
        view = views[context.id]
        number = _given_for(view, call, code, name)
        if number is None:
            continue
        how = _freshness_of(view, call.id, number, depth, known)
        if how > worst.how:
            worst = Fresh(how, name, view.written(number))
    return worst


def _given_for(view: ContextView, call: ops.Call, code: Function, name: str) -> OpId | None:
    """What a call gives for a parameter; None for its default, or where that cannot be told."""
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return None
    by_name = [argument.value for argument in call.arguments if argument.keyword == name]
    if by_name:
        return by_name[0]
    bound = code.kind is FunctionKind.METHOD and any(
        isinstance(member, BoundMethod | Reference) for member in members(view.value(call.function))
    )
    position = [parameter.name for parameter in code.parameters].index(name) - int(bound)
    given = [argument.value for argument in call.arguments if argument.keyword is None]
    return given[position] if 0 <= position < len(given) else None


def _freshness_of(view: ContextView, call: OpId, number: OpId, depth: int, known: _Known) -> Freshness:
    made = view.behind_name(number)
    op = view.op(made)
    alternatives = members(view.value(number))
    if isinstance(op, ops.BuildContainer):
        elements = (_freshness_of_element(view, call, element.value, depth, known) for element in op.elements)
        return max((*elements, _is_resized(view, call, alternatives)), default=Freshness.NEVER)
    if isinstance(op, ops.BuildDict):
        items = (_freshness_of_element(view, call, item.value, depth, known) for item in op.items)
        return max((*items, _is_resized(view, call, alternatives)), default=Freshness.NEVER)
    if isinstance(op, ops.Call) and any(_is_attrs_object(view, member) for member in alternatives):
        # a structure, which is told apart by what is in it
        fields = (_freshness_of_element(view, call, argument.value, depth, known) for argument in op.arguments)
        return max(fields, default=Freshness.NEVER)
    if isinstance(op, ops.Comprehension) and op.kind is not ops.ComprehensionKind.GENERATOR:
        return _related(view, call, made, _freshness_of_collected(view, op, depth, known))
    if _is_view_of_dict(view, op):
        return Freshness.REFUSED
    if _is_iterator(view, op) or (isinstance(op, ops.Call) and any(_is_one_of_many(each) for each in alternatives)):
        return _related(view, call, made, Freshness.ALWAYS)
    if not any(_is_told_by_identity(view, member) for member in alternatives):
        return _is_resized(view, call, alternatives)
    match op:
        case ops.LoadName(name=name, scope=ops.Scope.LOCAL | ops.Scope.CELL):
            found = [
                _related(view, call, store.value, _freshness_of(view, store.value, store.value, depth + 1, known))
                for store in view.code.stores.get(name, ())
                if store.value is not None and depth < _MAX_DEPTH
            ]
            if any(parameter.name == name for parameter in view.function.parameters):
                given = _of_parameter(view.codes, view.facts, view.function.id, name, depth + 1, known).how
                repeated = view.innermost_loop(call) is not None
                found.append(min(given, Freshness.SOMETIMES) if repeated else given)
            return max(found, default=Freshness.NEVER)
        case ops.LoadName(scope=ops.Scope.FREE):
            return Freshness.SOMETIMES
        case ops.LoadName():
            return Freshness.NEVER
        case _:
            return max((_made(view, call, op, member) for member in alternatives), default=Freshness.NEVER)


def _freshness_of_collected(view: ContextView, made: ops.Comprehension, depth: int, known: _Known) -> Freshness:
    """What a comprehension collects: Python numbers of which nothing is known are other ones each time."""
    worst = Freshness.NEVER
    for each in walk(made.body):
        if isinstance(each, ops.CollectElement):
            alternatives = members(view.value(each.value))
            numbers = any(isinstance(member, Scalar) and not member.symbolic for member in alternatives)
            how = Freshness.ALWAYS if numbers else _freshness_of(view, each.id, each.value, depth + 1, known)
            worst = max(worst, how if depth < _MAX_DEPTH else Freshness.SOMETIMES)
    return worst


def _freshness_of_element(view: ContextView, call: OpId, number: OpId, depth: int, known: _Known) -> Freshness:
    """What is in a display: numbers that change there are other structures."""
    if any(isinstance(member, Scalar) and not member.symbolic for member in members(view.value(number))):
        loop = view.innermost_loop(call)
        changing = {op.name for op in walk((loop,)) if isinstance(op, ops.StoreName)} if loop is not None else set()
        return Freshness.ALWAYS if _reads(view, number, changing) else Freshness.SOMETIMES
    return _freshness_of(view, call, number, depth + 1, known) if depth < _MAX_DEPTH else Freshness.SOMETIMES


def _reads(view: ContextView, number: OpId, names: set[str]) -> bool:
    match view.op(number):
        case ops.LoadName(name=name):
            return name in names
        case ops.Binary(left=left, right=right):
            return _reads(view, left, names) or _reads(view, right, names)
        case _:
            return False


def _is_attrs_object(view: ContextView, value: Value) -> bool:
    name = view.facts.objects[value.object].name if isinstance(value, Reference) else None
    return name is not None and any(is_attrs_class(view, each) for each in view.codes.classes_named(name))


def _is_view_of_dict(view: ContextView, op: ops.Op) -> bool:
    method = view.op(op.function) if isinstance(op, ops.Call) and not op.arguments else None
    if not isinstance(method, ops.LoadAttribute) or method.name not in ("keys", "values", "items"):
        return False
    owners = members(view.value(method.object))
    return bool(owners) and all(
        isinstance(owner, Reference) and view.facts.objects[owner.object].kind is ObjectKind.DICT for owner in owners
    )


def _is_iterator(view: ContextView, op: ops.Op) -> bool:
    """Whether the operation makes an iterator, also one of which every element is known."""
    if isinstance(op, ops.Comprehension):
        return op.kind is ops.ComprehensionKind.GENERATOR
    called = view.calls.get(op.id)
    return called is not None and any(name.removeprefix("builtins.") in _ITERATORS for name in called.library)


def _is_one_of_many(value: Value) -> bool:
    """Whether it is an object of a call that makes a new one each time, of which the analysis tells no more apart."""
    return isinstance(value, UnknownValue) and value.reason == TOO_MANY


def _is_told_by_identity(view: ContextView, value: Value) -> bool:
    match value:
        case FunctionValue() | BoundMethod() | PartialValue():
            # a traced method is kept with its object; but what is added there must not change what is said here
            return True
        case Reference():
            return view.facts.objects[value.object].kind is ObjectKind.INSTANCE
        case SequenceValue():
            return value.kind in _ITERATORS
        case _:
            return False


def _made(view: ContextView, call: OpId, op: ops.Op, value: Value) -> Freshness:
    """How fresh a value is that an operation of the caller gives."""
    match op, value:
        case ops.LoadAttribute(), BoundMethod():
            how = Freshness.ALWAYS
        case ops.LoadAttribute() | ops.LoadItem(), _:
            how = Freshness.NEVER
        case _, FunctionValue(function=function):
            parent = view.program.function(FunctionId(*function)).parent
            at_top = parent is None or view.program.function(parent).kind is FunctionKind.MODULE
            how = Freshness.NEVER if at_top and not isinstance(op, ops.MakeFunction) else Freshness.ALWAYS
        case _, PartialValue() | SequenceValue():
            how = Freshness.ALWAYS
        case ops.Call(), Reference(object=number):
            made = view.facts.objects[number]
            if made.function is None or view.program.function(made.function).kind is FunctionKind.MODULE:
                here = made.function == view.function.id
                how = Freshness.ALWAYS if here and made.op == op.id else Freshness.NEVER
            else:
                how = Freshness.ALWAYS if (made.function, made.op) == (view.function.id, op.id) else Freshness.SOMETIMES
        case _:
            how = Freshness.NEVER
    return _related(view, call, op.id, how)


def _related(view: ContextView, call: OpId, made: OpId, how: Freshness) -> Freshness:
    """How fresh what is made there is to the call."""
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
    code = codes.of(identity)
    found: set[OpId] = set()
    parent = code.parents[op]
    while parent is not None:
        if isinstance(code.ops[parent], ops.For | ops.While | ops.Comprehension):
            found.add(parent)
        parent = code.parents[parent]
    return frozenset(found)


def _is_resized(view: ContextView, call: OpId, given: tuple[Value, ...]) -> Freshness:
    """Whether a list or dict gets another length between the calls of a loop."""
    containers = {
        member.object
        for member in given
        if isinstance(member, Reference) and view.facts.objects[member.object].container_class is not None
    }
    around = _loops_around(view.codes, view.function.id, call)
    for other, resized in _resizings(view) if containers and around else ():
        same = any(isinstance(each, Reference) and each.object in containers for each in members(view.value(resized)))
        # a list that is made in the loop is filled in it, too
        objects = [view.facts.objects[number] for number in containers]
        made = {each.op for each in objects if each.function == view.function.id}
        inside = any(op is not None and _loops_around(view.codes, view.function.id, op) & around for op in made)
        filling = _loops_around(view.codes, view.function.id, other)
        if same and not inside and filling & around:
            return Freshness.ALWAYS
        # in a `while` of its own it gets another length each time
        making = frozenset[OpId]().union(
            *(_loops_around(view.codes, view.function.id, op) for op in made if op is not None)
        )
        if same and inside and any(isinstance(view.op(loop), ops.While) for loop in filling - making):
            return Freshness.ALWAYS
    return Freshness.NEVER


def _resizings(view: ContextView) -> Iterator[tuple[OpId, OpId]]:
    """The operations that may change how long a container is, and the container."""
    for call in view.code.of_kind(ops.Call):
        method = view.op(call.function)
        if isinstance(method, ops.LoadAttribute) and method.name in _RESIZES:
            yield call.id, method.object
    for store in view.code.of_kind(ops.StoreItem):
        # an item of a list is replaced; a key that is computed may be a new one
        objects = [each.object for each in members(view.value(store.object)) if isinstance(each, Reference)]
        if any(view.facts.objects[each].kind is ObjectKind.DICT for each in objects):
            if not isinstance(view.value(store.index), Constant):
                yield store.id, store.object
