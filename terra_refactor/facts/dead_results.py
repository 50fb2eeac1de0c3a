"""Operations that run eagerly but are pruned from a graph, since no result of the graph depends on them.

A graph keeps the operations that its results need and those with side effects; TensorFlow prunes the others when the
function is called. An operation without side effects whose result is not used is not executed, and its errors are not
raised.

Computes: the operations that may fail for some contents of their arguments, and whose results are dead: not read, or
read only by dead operations, or returned to a call whose result (or that part of it) is dead. Needs: a `ContextView`.
Gives: `pruned`. Approximates: arguments of functions of the program count as used, and so do reads in nested
functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from terra_refactor.domain.value import Constant, DTypeValue, ShapeValue
from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Container,
    Display,
    ItemRead,
    NameWrite,
    Operation,
    Return,
    Slice,
    Unpacked,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 6
_STATEFUL: Final = (
    Trait.GIVES_OPERATION,
    Trait.DROPPED_BY_XLA,
    Trait.HOST_CALLBACK,
    Trait.CREATES_STATE,
    Trait.TENSOR_STATE,
    Trait.RUNS_BODY,
    Trait.RUNS_BRANCHES,
)


_Used: TypeAlias = "frozenset[int] | None"
"""The members of the returned tuple that its caller uses; () if it does not use the result, None if it uses all of it."""


def pruned(view: ContextView) -> Iterator[tuple[OpId, str]]:
    """The operations that a graph prunes although they may fail, each with its source text.

    An operation of a callee counts at the call if its result is unused only because of this call.
    """
    if not view.facts.leads_to(view.context.id, Trait.FAILS_ON_VALUES):
        return
    for number in view.calls:
        yield from _pruned_at(view, number, None, 0)


def _pruned_at(view: ContextView, number: OpId, used: _Used, depth: int) -> Iterator[tuple[OpId, str]]:
    fact = view.calls[number]
    if any(has_trait(name, Trait.FAILS_ON_VALUES) for name in fact.library) and not fact.callees:
        if _is_dead(view, number, used):
            yield number, view.written(number)
    if not fact.callees or fact.library or depth >= _MAX_DEPTH or not isinstance(view.code.facts[number], Call):
        return
    inside = _used_of(view, number, used)
    if inside is None:
        return
    for callee in fact.callees:
        inner = view.of(callee)
        for each in inner.calls:
            for place, written in _pruned_at(inner, each, inside, depth + 1):
                if used is not None or not _is_dead(inner, place, None):
                    yield number, written


def _used_of(view: ContextView, number: OpId, used: _Used) -> _Used:
    """The parts of a call's result that are used."""
    if _is_dead(view, number, used):
        return frozenset()
    positions: dict[int, list[OpId]] = {}
    for source, reader in _readers(view, number):
        match view.code.facts[reader]:
            case Unpacked(position=position):
                positions.setdefault(position, []).append(reader)
            case ItemRead(index=index, owner=owner) if owner == source:
                value = view.value(index)
                if not isinstance(value, Constant) or not isinstance(value.value, int) or value.value < 0:
                    return None
                positions.setdefault(value.value, []).append(reader)
            case _:
                return None
    return frozenset(
        position for position, parts in positions.items() if not all(_is_dead(view, part, used) for part in parts)
    )


def _readers(view: ContextView, number: OpId) -> Iterator[tuple[OpId, OpId]]:
    """The readers of a result, also through a local variable, each with the operation that it reads."""
    for reader in view.code.readers(number, results=True):
        fact = view.code.facts[reader]
        if isinstance(fact, NameWrite) and fact.is_own:
            for read in view.code.reads_of(fact.name):
                if fact in view.code.given_to(read):
                    yield from ((read.op, user) for user in view.code.readers(read.op, results=True))
        else:
            yield number, reader


def _is_dead(view: ContextView, number: OpId, used: _Used) -> bool:
    """Whether no operation that a graph keeps depends on a result."""
    waiting, seen = [number], {number}
    while waiting:
        each = waiting.pop()
        for reader in view.code.readers(each, results=True):
            further = _handed_on(view, each, reader, used)
            if further is None:
                return False
            waiting += [other for other in further if other not in seen]
            seen.update(further)
    return True


def _handed_on(view: ContextView, number: OpId, reader: OpId, used: _Used) -> tuple[OpId, ...] | None:
    """The results that contain a reader's result; None if the graph keeps that."""
    match view.code.facts[reader]:
        case NameWrite(name=name, is_own=True) as write:
            return tuple(read.op for read in view.code.reads_of(name) if write in view.code.given_to(read))
        case Operation() | ItemRead() | Unpacked() | Slice():
            return (reader,)
        case AttributeRead():
            is_static = view.all_are(reader, ShapeValue, DTypeValue)
            return () if is_static else (reader,)
        case Call() as call:
            return _after_call(view, call)
        case Return():
            return None if used is None or used else ()
        case Display(kind=Container.TUPLE, is_comprehension=False, items=items) if used:
            returned = all(
                isinstance(view.code.facts[each], Return) for each in view.code.readers(reader, results=True)
            )
            places = {place for place, item in enumerate(items) if item.value == number}
            is_plain = not any(item.starred for item in items)
            return () if returned and is_plain and used.isdisjoint(places) else (reader,)
        case Display(is_comprehension=False):
            return (reader,)
        case _:
            return None


def _after_call(view: ContextView, call: Call) -> tuple[OpId, ...] | None:
    """The result of a call, if a graph prunes it when it is not used."""
    fact = view.calls.get(call.op)
    if fact is None or fact.callees or fact.unknown is not None or not fact.library:
        return None
    if any(effect.site.op == call.op and not effect.via for effect in view.context.effects):
        return None
    for name in fact.library:
        if has_trait(name, Trait.GIVES_SIZE_OF_ARRAY):
            # the size with which the array was created
            return None if _grows(view) else ()
        if any(has_trait(name, trait) for trait in _STATEFUL):
            return None
        if not (has_trait(name, Trait.TENSOR_OPERATION) or has_trait(name, Trait.CHANGES_TENSOR_ARRAY)):
            return None
    return (call.op,)


def _grows(view: ContextView) -> bool:
    """Whether a `TensorArray` created here may grow; its size is then that of the written elements."""
    made = [call for call, _ in view.library_calls()]
    return any(argument.keyword == "dynamic_size" or argument.spread for call in made for argument in call.arguments)
