"""Origins of a value, across functions: through variables, unpacked displays, parameters and results of the program's
functions.

Gives: `ValueSource`, `sources_of`, `users_of`, `is_given_by`. Approximates: every assignment to a variable may give
its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.facts.records import Call, Display, Fact, NameRead, Unpacked
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId

_MAX_SOURCES: Final = 12
_MAX_STEPS: Final = 60
_MAX_CALLERS: Final = 3
"""Maximum number of calls that are followed from a parameter to its origin."""


@dataclass(frozen=True, slots=True)
class ValueSource:
    """An operation that may have computed a value, in the context of a function."""

    view: ContextView
    fact: Fact

    @property
    def names(self) -> tuple[str, ...]:
        """The library functions that it calls."""
        return self.view.library_of(self.fact.op) if isinstance(self.fact, Call) else ()


def sources_of(view: ContextView, number: OpId, *, within: bool = False) -> tuple[ValueSource, ...]:
    """The operations that may have computed a result; () if there are too many. With `within`, only those of this function."""
    found: list[ValueSource] = []
    pending: list[tuple[ContextView, OpId]] = [(view, number)]
    seen = {(view.context.id, number)}
    for _ in range(_MAX_STEPS):
        if not pending:
            return tuple(found)
        user, at = pending.pop()
        further = _behind(user, at, within=within)
        if further is None:
            fact = user.made(at)
            if fact is not None:
                found.append(ValueSource(user, fact))
        for each in further or ():
            if (each[0].context.id, each[1]) not in seen:
                seen.add((each[0].context.id, each[1]))
                pending.append(each)
        if len(found) > _MAX_SOURCES:
            return ()
    return ()


def _behind(view: ContextView, number: OpId, *, within: bool) -> list[tuple[ContextView, OpId]] | None:
    """The origin of a result, in this function or another one; None if an operation computes it."""
    match view.made(number):
        case NameRead(is_local=True) as read:
            written = [(view, write.value) for write in view.code.given_to(read)]
            if view.code.has_parameter(read.name):
                given = [] if within else _given_by_callers(view, read.name)
                return [*written, *given] or None
            return written or None
        case NameRead():
            before = view.behind_name(number)
            return None if before == number else [(view, before)]
        case Unpacked(source=source, position=position):
            made = view.origin(source)
            if isinstance(made, Display) and made.is_sequence and not any(item.starred for item in made.items):
                return [(view, made.items[position].value)] if 0 <= position < len(made.items) else None
            return None
        case Call() as call if not within:
            called = view.calls.get(call.op)
            if called is None or called.library or called.unknown is not None or len(called.callees) != 1:
                return None
            callee = view.of(called.callees[0])
            return [(callee, value) for _, value in callee.returns()] or None
        case _:
            return None


def _given_by_callers(view: ContextView, name: str) -> list[tuple[ContextView, OpId]]:
    found: list[tuple[ContextView, OpId]] = []
    for caller, place in view.calls_of_function():
        given = None if place is None else caller.given_for(place, view.function, name)
        if given is None or len(found) >= _MAX_CALLERS:
            return []
        found.append((caller, given))
    return found


def users_of(view: ContextView, number: OpId) -> Iterator[tuple[ContextView, OpId]]:
    """The functions that have the result of an operation, each with the operation that produces it there: this one, and
    callers that receive it.
    """
    yield view, number
    if any(is_given_by(view, value, number) for _, value in view.returns()):
        for caller, place in view.calls_of_function():
            if place is not None:
                yield caller, place.op


def is_given_by(view: ContextView, number: OpId, op: OpId) -> bool:
    """Whether a result may be that of an operation of the same function."""
    return number == op or any(source.fact.op == op for source in sources_of(view, number, within=True))
