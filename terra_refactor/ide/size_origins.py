"""Origins of the sizes of a tensor: the operation, layer or parameter from which each size comes.

Computes: Markdown, one line per origin. Needs: a snapshot. Gives: `size_origins`, `parameter_origins`.

    - 32: `tf.zeros([32, 28])` (line 9), through `images`
    - 64: `self.dense(x)` (line 5), by `layers.Dense(64)` (line 3)

A size is followed backwards through names, parameters and their callers. Through an operation it is followed only if
the operation's rule, applied to tensors with symbols as sizes, returns that symbol: equal numbers prove nothing. Where
that is unknown, the operation itself is the origin. Ignores: sizes of 1, unknown sizes, and values inside of containers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from terra_refactor.analysis.binding import bind_library_arguments
from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.domain.dim import Dim, eager, format_dim, symbol
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    UNKNOWN,
    BoundMethod,
    FrozenList,
    LibraryValue,
    Reference,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.ide.explanations import PlaceLink
from terra_refactor.ide.layers import configuration_sources
from terra_refactor.ide.names import creation_call, creation_text
from terra_refactor.ide.snapshot import Snapshot, line_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.walk import blocks, walk
from terra_refactor.tf_model.ops.operators import operator_rule
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, Entity, EntityKind, OperationError
from terra_refactor.workspace.printable import as_code

_MOST_STEPS: Final = 64
_LONGEST_TEXT: Final = 60
_MOST_INPUTS: Final = 3
_KEPT: Final = 8
_tables: Final[dict[int, tuple[Function, Mapping[OpId, ops.Op]]]] = {}
"""The operations of the last functions by number, with the function, by its identity."""
_MARK = re.compile(r"%(\d+)\.(\d+)")
_ELEMENTWISE = ("+", "-", "*", "/", "//", "%", "**")
_Marking: TypeAlias = Callable[[OpId], Value]
"""The value of an operand, with a symbol for each known size of a tensor."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value: the result of an operation in one context of a function, or a parameter of it."""

    function: Function
    context: ContextFacts
    op: OpId | None
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class _Origin:
    """The end of the way back: its text, and whether it says more than the line under the cursor."""

    text: str
    is_news: bool


def size_origins(snapshot: Snapshot, function: Function, result: OpId, place_link: PlaceLink, line: int) -> str:
    """The origins of the sizes of an operation's result, except those that the line itself shows; empty if there are none."""
    for context in snapshot.contexts(function):
        if _sizes(context.values[result]):
            return _text(snapshot, _Place(function, context, result), place_link, line)
    return ""


def parameter_origins(snapshot: Snapshot, function: Function, name: str, place_link: PlaceLink, line: int) -> str:
    """The origins of the sizes of a parameter; empty if there are none."""
    for context in snapshot.contexts(function):
        if _sizes(context.parameters.get(name)):
            return _text(snapshot, _Place(function, context, None, name), place_link, line)
    return ""


def _sizes(value: Value | None) -> tuple[Dim, ...]:
    return (value.type.shape or ()) if isinstance(value, TensorValue) else ()


def _value(place: _Place) -> Value | None:
    return place.context.parameters.get(place.parameter) if place.op is None else place.context.values[place.op]


def _text(snapshot: Snapshot, start: _Place, place_link: PlaceLink, line: int) -> str:
    told: dict[str, list[str]] = {}
    for axis, dim in enumerate(_sizes(_value(start))):
        size = eager(dim)
        if size is None or size == 1:
            continue
        origin = _origin(snapshot, start, axis, place_link, line)
        if origin is not None and origin.is_news:
            sizes = told.setdefault(origin.text, [])
            if format_dim(size) not in sizes:
                sizes.append(format_dim(size))
    return "\n".join(f"- {', '.join(sizes)}: {text}" for text, sizes in told.items())


def _origin(snapshot: Snapshot, start: _Place, axis: int, place_link: PlaceLink, line: int) -> _Origin | None:
    place, through, seen = start, list[str](), set[tuple[FunctionId, int, OpId | None, str]]()
    for _ in range(_MOST_STEPS):
        key = (place.function.id, place.context.id, place.op, place.parameter)
        if key in seen:
            return None
        seen.add(key)
        step = _before(snapshot, place, axis)
        if step is None:
            break
        if place.op is None and place.parameter not in through:
            through.append(place.parameter)
        place, axis = step
    path = snapshot.program.modules[place.function.id.module].path
    way = f", through {', '.join(as_code(name) for name in reversed(through))}" if through else ""
    if place.op is None:
        if place.function is start.function:
            return None
        where = place_link(path, place.function.def_line, f"line {place.function.def_line}")
        return _Origin(
            f"parameter {as_code(place.parameter)} of {as_code(place.function.qualname)} ({where}){way}", True
        )
    number = place.function.spans[place.op].line
    words = f"line {number}" if place.function.id.module == start.function.id.module else f"{path}, line {number}"
    text = f"{as_code(_written(snapshot, place.function, place.op))} ({place_link(path, number, words)})"
    made, inputs = _layer(snapshot, place, place_link), _inputs(place)
    if inputs:
        text += f" of {inputs}"
    return _Origin(text + made + way, bool(made or inputs) or place.function is not start.function or number != line)


def _written(snapshot: Snapshot, function: Function, op: OpId) -> str:
    """The source of an operation, on one line."""
    span = function.spans[op]
    source = snapshot.sources.get(snapshot.program.modules[function.id.module].path)
    line = "" if source is None else line_text(source.text, span.line)
    if span.line != span.end_line:
        return line[span.column - 1 :].rstrip()[: _LONGEST_TEXT - 1] + "…"
    text = line[span.column - 1 : span.end_column - 1]
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _inputs(place: _Place) -> str:
    """The shapes of the tensors that an operation reads."""
    shapes = dict.fromkeys(
        format_shape(value.type.shape)
        for value in _tensors(place)
        if isinstance(value, TensorValue) and value.type.shape and value.content is None
    )
    return " and ".join(as_code(shape) for shape in shapes) if len(shapes) <= _MOST_INPUTS else ""


def _tensors(place: _Place) -> Iterator[Value | None]:
    by_id = _by_id(place.function)
    match by_id.get(-1 if place.op is None else place.op):
        case ops.Binary(left=left, right=right):
            yield from (place.context.values[left], place.context.values[right])
        case ops.Call(arguments=arguments):
            for argument in arguments:
                given = by_id.get(argument.value)
                if isinstance(given, ops.BuildContainer):
                    yield from (place.context.values[element.value] for element in given.elements)
                else:
                    yield place.context.values[argument.value]
        case ops.LoadItem(object=owner):
            yield place.context.values[owner]
        case _:
            return


def _layer(snapshot: Snapshot, place: _Place, place_link: PlaceLink) -> str:
    """For the call of a layer: its creation."""
    op = _by_id(place.function).get(-1 if place.op is None else place.op)
    callee = place.context.values[op.function] if isinstance(op, ops.Call) else None
    if not isinstance(callee, Reference):
        return ""
    found = snapshot.facts.objects[callee.object]
    made = creation_text(snapshot, found)
    if made is None or found.function is None or found.op is None:
        return ""
    line = snapshot.program.function(found.function).spans[found.op].line
    path = snapshot.program.modules[found.function.module].path
    return f", by {as_code(made)} ({place_link(path, line, f'line {line}')})"


def _by_id(function: Function) -> Mapping[OpId, ops.Op]:
    found = _tables.get(id(function))
    if found is None or found[0] is not function:
        while len(_tables) >= _KEPT:
            _tables.pop(next(iter(_tables)), None)
        found = _tables[id(function)] = function, {op.id: op for op in walk(function.body)}
    return found[1]


# --- one step back -----------------------------------------------------------------------------------------------------------------


def _before(snapshot: Snapshot, place: _Place, axis: int) -> tuple[_Place, int] | None:
    """The value, and its axis, from which a size comes; None if it begins here."""
    if place.op is None:
        passed = _passed(snapshot, place)
        return None if passed is None else (passed, axis)
    by_id = _by_id(place.function)
    match by_id.get(place.op):
        case ops.LoadName(name=name, scope=scope) as load:
            source = _store_before(place.function, load)
            if source is not None:
                return replace(place, op=source), axis
            if any(isinstance(op, ops.StoreName) and op.name == name for op in by_id.values()):
                return None
            if any(parameter.name == name for parameter in place.function.parameters):
                return replace(place, op=None, parameter=name), axis
            found = _global(snapshot, place, name) if scope is ops.Scope.GLOBAL else None
            return None if found is None else (found, axis)
        case ops.Binary(operator=operator, left=left, right=right) if operator in _ELEMENTWISE:
            size, rank = _sizes(place.context.values[place.op])[axis], len(_sizes(place.context.values[place.op]))
            for side in (left, right):  # broadcasting compares the last axes; all sizes but 1 are equal
                sizes = _sizes(place.context.values[side])
                at = axis - rank + len(sizes)
                if at >= 0 and eager(sizes[at]) == eager(size):
                    return replace(place, op=side), at
            return None
        case ops.Binary() | ops.Call() as op:
            return _through(snapshot, place, op, by_id, axis)
        case _:
            return None


def _passed(snapshot: Snapshot, place: _Place) -> _Place | None:
    """The argument that a call in the program passes for a parameter."""
    facts = snapshot.facts.functions.get(place.function.id)
    for caller in () if facts is None else facts.callers:
        context = snapshot.facts.contexts[caller.context]
        if not any(call.op == caller.op and place.context.id in call.callees for call in context.calls):
            continue
        function = snapshot.program.function(context.function)
        call = _by_id(function).get(caller.op)
        if not isinstance(call, ops.Call) or any(each.spread is not ops.Spread.PLAIN for each in call.arguments):
            continue
        names = [each.name for each in place.function.parameters if each.kind is not ParameterKind.KEYWORD_ONLY]
        callee = context.values[call.function]
        if place.function.kind is FunctionKind.METHOD and isinstance(callee, BoundMethod | Reference):
            names = names[1:]
        positions = [each for each in call.arguments if each.keyword is None]
        for index, argument in enumerate((*positions, *(each for each in call.arguments if each.keyword is not None))):
            name = argument.keyword or (names[index] if index < len(names) else None)
            if name == place.parameter and _sizes(context.values[argument.value]) == _sizes(_value(place)):
                return _Place(function, context, argument.value)
    return None


def _global(snapshot: Snapshot, place: _Place, name: str) -> _Place | None:
    """A name of the module that is bound once."""
    body = snapshot.program.modules[place.function.id.module].body
    bound = [op.value for op in walk(body.body) if isinstance(op, ops.StoreName) and op.name == name]
    contexts = snapshot.contexts(body)
    if place.function is body or len(bound) != 1 or bound[0] is None or not contexts:
        return None
    return _Place(body, contexts[0], bound[0])


def _store_before(function: Function, load: ops.LoadName) -> OpId | None:
    """The value of the only store of a name that reaches a load; None if there is none, or may be several."""
    around: dict[OpId, tuple[tuple[OpId, int], ...]] = {}
    stores: list[ops.StoreName] = []

    def visit(block: ops.Block, path: tuple[tuple[OpId, int], ...]) -> None:
        for op in block:
            around[op.id] = path
            if isinstance(op, ops.StoreName) and op.name == load.name:
                stores.append(op)
            for number, inner in enumerate(blocks(op)):
                visit(inner, (*path, (op.id, number)))

    visit(function.body, ())
    earlier = [store for store in stores if store.id < load.id]
    if not earlier or load.id not in around:
        return None
    last, where = earlier[-1], around[load.id]
    if where[: len(around[last.id])] != around[last.id]:
        return None
    loops = [number for number, _ in where[len(around[last.id]) :]]
    again = any(store.id > load.id and any(each in loops for each, _ in around[store.id]) for store in stores)
    return None if again else last.value


def _through(
    snapshot: Snapshot, place: _Place, op: ops.Binary | ops.Call, by_id: Mapping[OpId, ops.Op], axis: int
) -> tuple[_Place, int] | None:
    """The operand, and its axis, whose size an operation passes on."""
    operands: list[OpId] = []

    def marked(number: OpId) -> Value:
        made = by_id.get(number)
        if isinstance(made, ops.BuildContainer) and not any(element.starred for element in made.elements):
            elements = tuple(marked(element.value) for element in made.elements)
            return TupleValue(elements) if made.kind is ops.ContainerKind.TUPLE else FrozenList(elements)
        value = place.context.values[number]
        if not isinstance(value, TensorValue) or not value.type.shape or value.content is not None:
            return UNKNOWN if value is None else value
        operands.append(number)
        sizes = tuple(
            symbol(f"%{len(operands) - 1}.{at}") if isinstance(eager(size), int) and size != 1 else size
            for at, size in enumerate(value.type.shape)
        )
        return TensorValue(replace(value.type, shape=sizes), value.kind)

    try:
        result = _applied(snapshot, place, op, by_id, marked)
    except OperationError:
        return None
    sizes, known = _sizes(result), _sizes(place.context.values[op.id])
    found = _MARK.fullmatch(format_dim(eager(sizes[axis]))) if len(sizes) == len(known) else None
    return None if found is None else (replace(place, op=operands[int(found[1])]), int(found[2]))


def _applied(
    snapshot: Snapshot,
    place: _Place,
    op: ops.Binary | ops.Call,
    by_id: Mapping[OpId, ops.Op],
    marked: _Marking,
) -> Value:
    """The result of an operation on marked operands."""
    if isinstance(op, ops.Binary):
        return operator_rule(op.operator, marked(op.left), marked(op.right))
    entity, receiver, configuration = _callee(snapshot, place.context.values[op.function], op, by_id, marked)
    if entity is None or entity.rule is None or any(each.spread is not ops.Spread.PLAIN for each in op.arguments):
        return UNKNOWN
    arguments = CallArguments(
        tuple(marked(each.value) for each in op.arguments if each.keyword is None),
        tuple((each.keyword, marked(each.value)) for each in op.arguments if each.keyword is not None),
    )
    bound, extra, keywords, incomplete = bind_library_arguments(entity, arguments)
    call = BoundCall(entity.name, bound, extra, keywords, receiver, configuration, incomplete, lambda *_, **__: UNKNOWN)
    return entity.rule(call)


def _callee(
    snapshot: Snapshot, callee: Value | None, op: ops.Call, by_id: Mapping[OpId, ops.Op], marked: _Marking
) -> tuple[Entity | None, Value | None, Mapping[str, Value]]:
    """The library function or layer that is called, with the receiver of a method and the settings of a layer."""
    match callee:
        case LibraryValue(name):
            entity = lookup(name)
            return (entity if entity is not None and entity.kind is EntityKind.FUNCTION else None), None, {}
        case BoundMethod(LibraryValue(name), TensorValue()):
            method = by_id.get(op.function)
            return (
                (lookup(name), marked(method.object), {}) if isinstance(method, ops.LoadAttribute) else (None, None, {})
            )
        case Reference(number):
            made = configuration_sources(snapshot, snapshot.facts.objects[number])
            if made is None or creation_call(snapshot, snapshot.facts.objects[number]) is None:
                return None, None, {}
            values = {
                name: FrozenList(None, UNKNOWN) if isinstance(value, Reference) else value
                for name, value in made[1].items()
            }
            return lookup(f"{made[0]}.__call__"), callee, values
        case _:
            return None, None, {}
