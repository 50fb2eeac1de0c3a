"""Uses of an argument in a function and in all callees to which it passes the argument, or a part of it.

Computes: nothing. Needs: a `ContextView`. Gives: `uses_of`, `is_computed_from`, `is_part_of`, `taken_out_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from terra_refactor.facts.records import (
    AttributeRead,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    NameRead,
    NextItem,
    Operation,
    Unpacked,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId

Finder: TypeAlias = Callable[[ContextView, str], Iterator[OpId]]
"""The operations of a function that use a parameter in some way. Equal finders find the same."""
Passing: TypeAlias = Callable[[ContextView, OpId, str], bool]
"""Whether a result contains a relevant part of a parameter."""
_MAX_DEPTH: Final = 4


def is_computed_from(view: ContextView, number: OpId, name: str) -> bool:
    """Whether a result is, or is computed from, a parameter or its parts."""
    return _reads(view, number, name, _operands)


def is_part_of(view: ContextView, number: OpId, name: str) -> bool:
    """Whether a result is a parameter, or a part of one: through items, loops, methods of containers and functions like `zip`."""
    return _reads(view, number, name, taken_out_of)


def uses_of(view: ContextView, name: str, find: Finder, passes: Passing) -> Iterator[OpId]:
    """The operations that use a parameter, and the calls that lead to such operations."""
    yield from _uses(view, name, find, passes, 0)


def _uses(view: ContextView, name: str, find: Finder, passes: Passing, depth: int) -> Iterator[OpId]:
    yield from find(view, name)
    if depth == _MAX_DEPTH:
        return
    for number, fact in view.calls.items():
        call = view.made(number) if fact.callees else None
        if not isinstance(call, Call) or not call.is_plain:
            continue
        # most calls do not pass the parameter at all
        passed = {each for each in {argument.value for argument in call.arguments} if passes(view, each, name)}
        if not passed:
            continue
        for callee in fact.callees:
            inner = view.of(callee)
            for parameter in inner.function.parameters:
                if view.given_for(call, inner.function, parameter.name) not in passed:
                    continue
                if _has_uses(inner, parameter.name, find, passes, depth + 1):
                    yield number
                    break


def _has_uses(view: ContextView, name: str, find: Finder, passes: Passing, depth: int) -> bool:
    """Whether there are such operations; found once for all callers of a context, and all of theirs."""
    key = _has_uses, view.context.id, name, find, passes, depth
    return view.codes.once_with_looks(key, lambda: any(True for _ in _uses(view, name, find, passes, depth)))


def _reads(view: ContextView, number: OpId, name: str, follow: Callable[[Fact], Iterable[OpId]]) -> bool:
    def read() -> frozenset[str]:
        facts = (fact for fact in view.behind(number, follow) if isinstance(fact, NameRead))
        return frozenset(fact.name for fact in facts if fact.is_local)

    # the code says it, not the values of a context
    return name in view.codes.once((_reads, view.function.id, number, follow), read)


def _operands(fact: Fact) -> Iterable[OpId]:
    match fact:
        case Operation(sides=sides):
            return sides
        case AttributeRead(owner=owner):
            return (owner,)
        case Choice(results=results):
            return results
        case Call(arguments=arguments):
            return (*taken_out_of(fact), *(argument.value for argument in arguments))
        case _:
            return taken_out_of(fact)


def taken_out_of(fact: Fact) -> Iterable[OpId]:
    """The results of which a result is a (nested) element."""
    match fact:
        case ItemRead(owner=owner):
            return (owner,)
        case Unpacked(source=source):
            return (source,)
        case NextItem(source=int() as source):
            return (source,)
        case Display(items=items, iterable=iterable):
            return (*(item.value for item in items), *(() if iterable is None else (iterable,)))
        case Call(owner=owner, method=method, arguments=arguments):
            if method in ("items", "values", "get", "pop"):
                return () if owner is None else (owner,)
            return tuple(each.value for each in arguments) if method in ("zip", "enumerate", "list", "reversed") else ()
        case _:
            return ()
