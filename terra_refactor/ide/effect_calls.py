"""Calls that carry effects and hazards, from callees to callers.

Computes: a call hierarchy of code that a graph would not repeat, or that keeps a function from becoming one. Needs: a
snapshot. Gives: `carrier_at`, `carried_from`, `carried_to`, `Carrier`, `Carrying`. Ignores: calls without effects or
hazards, and unresolved calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.classify.decision import Decision
from terra_refactor.ide.explanations import verdict
from terra_refactor.ide.operations import callers_of
from terra_refactor.ide.snapshot import NAMED, Snapshot, line_text, name_span
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.registry import all_rules
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span

_Key: TypeAlias = tuple[object, ...]
"""Identifies an effect or hazard, in any function that has it."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Carrier:
    """A function reached by effects or hazards, or (`kind` is None) the position in a function of such an effect or hazard."""

    path: str
    name: str
    kind: FunctionKind | None
    detail: str
    span: Span
    name_span: Span
    index: int
    """Number of the function in its file."""


@dataclass(frozen=True, slots=True)
class Carrying:
    """The other end of some calls of one function, or a position in its own code."""

    carrier: Carrier
    calls: tuple[Span, ...]
    """In the file of the calling function; for an effect in its own code, the position of that."""


@deeply
def carrier_at(snapshot: Snapshot, path: str, line: int, column: int) -> Carrier | None:
    """The function called at a position (both counted from 1), otherwise the innermost enclosing one; None if no effect
    or hazard reaches it.
    """
    known = _Known(snapshot)
    for function in snapshot.functions_at(path, line, column):
        called = known.called_at(function, line, column)
        if called is not None:
            return known.carrier_of(snapshot.program.function(called))
        if function.kind is not FunctionKind.CLASS_BODY:
            return known.carrier_of(function)
    return None


@deeply
def carried_from(snapshot: Snapshot, path: str, index: int) -> tuple[Carrying, ...]:
    """The sources of a function's effects and hazards: positions in its own code, then calls, each in source order."""
    function = _function(snapshot, path, index)
    if function is None:
        return ()
    known = _Known(snapshot)
    own = [
        Carrying(Carrier(path, said, None, detail, span, span, index), (span,))
        for span, (said, detail) in sorted(known.own(function.id).items())
    ]
    causes = known.causes(function.id)
    along = [
        Carrying(known.carrier(snapshot.program.function(callee)), tuple(sorted(places)))
        for callee, places in known.ways(function).items()
        if not causes.isdisjoint(known.causes(callee))
    ]
    return (*own, *sorted(along, key=lambda each: (each.calls, each.carrier.path, each.carrier.span)))


@deeply
def carried_to(snapshot: Snapshot, path: str, index: int) -> tuple[Carrying, ...]:
    """The functions to which a function's effects and hazards propagate, with the calls, by file and line."""
    function = _function(snapshot, path, index)
    facts = None if function is None else snapshot.facts.functions.get(function.id)
    if function is None or facts is None:
        return ()
    known = _Known(snapshot)
    causes = known.causes(function.id)
    found: list[Carrying] = []
    callers = [snapshot.facts.function_of(each.context) for each in facts.callers]
    for caller in dict.fromkeys([*callers, *known.reached_through(function)]):
        code = snapshot.program.function(caller)
        places = known.ways(code).get(function.id)
        if places and not causes.isdisjoint(known.causes(caller)):
            found.append(Carrying(known.carrier(code), tuple(sorted(places))))
    return tuple(sorted(found, key=lambda each: (each.carrier.path, each.carrier.span)))


class _Known:
    """Decisions and calls of a snapshot, for one query."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._decisions = {each.function: each for found in snapshot.decisions.values() for each in found}
        self._by_name: dict[str, list[Decision]] = {}
        for decision in self._decisions.values():
            self._by_name.setdefault(decision.qualname, []).append(decision)

    def calls(self, caller: FunctionId) -> Mapping[FunctionId, list[OpId]]:
        """The functions that a function calls, each with the call operations."""
        found: dict[FunctionId, list[OpId]] = {}
        for context in self._snapshot.facts.contexts_of(caller):
            for call in context.calls:
                for callee in dict.fromkeys(map(self._snapshot.facts.function_of, call.callees)):
                    places = found.setdefault(callee, [])
                    if call.op not in places:
                        places.append(call.op)
        return found

    def ways(self, function: Function) -> Mapping[FunctionId, set[Span]]:
        """The functions that a function calls, or through which a hazard reaches it otherwise (the gradient that a tape
        runs), each with the positions.
        """
        found: dict[FunctionId, set[Span]] = {
            callee: {function.span_of(op) for op in places} for callee, places in self.calls(function.id).items()
        }
        decision = self._decisions.get(function.id)
        for hazard in () if decision is None else decision.hazards:
            called = (self._snapshot.program.function(each).qualname for each, at in found.items() if hazard.span in at)
            if hazard.via and hazard.via[0] not in called:
                others = [
                    other.function
                    for other in self._by_name.get(hazard.via[0], ())
                    if any((each.rule, each.via) == (hazard.rule, hazard.via[1:]) for each in other.hazards)
                ]
                if len(others) == 1:
                    found.setdefault(others[0], set()).add(hazard.span)
        return found

    def reached_through(self, function: Function) -> Iterator[FunctionId]:
        """The functions that a hazard reaches through this one."""
        for decision in self._decisions.values():
            if any(hazard.via[:1] == (function.qualname,) for hazard in decision.hazards):
                yield decision.function

    def causes(self, identity: FunctionId) -> frozenset[_Key]:
        """The effects and hazards that reach a function; for a module or class body, which has no decision, those of
        its callees.
        """
        decision = self._decisions.get(identity)
        if decision is not None:
            return frozenset(_keys(decision))
        if self._snapshot.program.function(identity).kind not in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
            return frozenset()
        callees = (self._decisions.get(callee) for callee in self.calls(identity))
        return frozenset(key for each in callees if each is not None for key in _keys(each))

    def own(self, identity: FunctionId) -> Mapping[Span, tuple[str, str]]:
        """The effects and hazards of a function's own code: for each position its text, and its rules or kind of effect."""
        decision = self._decisions.get(identity)
        if decision is None:
            return {}
        text = self._snapshot.sources[decision.path].text
        rules: dict[Span, dict[str, None]] = {}
        for hazard in decision.hazards:
            if not hazard.via:
                words = f"{hazard.rule} {all_rules()[hazard.rule].name.replace('-', ' ')}"
                rules.setdefault(hazard.span, {})[words] = None
        for effect in decision.side_effects:
            if not effect.via and effect.span not in rules:
                rules[effect.span] = {effect.kind.replace("_", " "): None}
        return {span: (_written(text, span), ", ".join(words)) for span, words in rules.items()}

    def carrier_of(self, function: Function) -> Carrier | None:
        """The function as the root of a hierarchy; None if nothing reaches it."""
        return self.carrier(function) if self.causes(function.id) else None

    def carrier(self, function: Function) -> Carrier:
        """The function with its decision."""
        path = self._snapshot.program.modules[function.id.module].path
        place = name_span(self._snapshot, path, function) if function.kind in NAMED else _first(function)
        name = path.rpartition("/")[2] if function.kind is FunctionKind.MODULE else function.qualname
        decision = self._decisions.get(function.id)
        detail = "" if decision is None else verdict(decision)
        return Carrier(path, name, function.kind, detail, function.span, place, function.id.index)

    def called_at(self, function: Function, line: int, column: int) -> FunctionId | None:
        """The program function called at a position, if any; the position must be in the last name of the callee."""
        called = callers_of(function)
        for op in walk(function.body):
            call = called.get(op.id)
            span = function.span_of(op.id)
            if call is None or not isinstance(op, ops.LoadName | ops.LoadAttribute) or line != span.end_line:
                continue
            if span.end_column - len(op.name) <= column < span.end_column:
                found = [callee for callee, places in self.calls(function.id).items() if call.id in places]
                return found[0] if len(found) == 1 else None
        return None


def _function(snapshot: Snapshot, path: str, index: int) -> Function | None:
    return next((each for each in snapshot.functions(path) if each.id.index == index), None)


def _keys(decision: Decision) -> Iterator[_Key]:
    for effect in decision.side_effects:
        yield effect.kind, effect.path, effect.span
    for hazard in decision.hazards:
        yield hazard.rule, hazard.via[-1] if hazard.via else decision.qualname


def _written(text: str, span: Span) -> str:
    """The code at a position, if it is short and on one line."""
    line = line_text(text, span.line)
    code = line[span.column - 1 : span.end_column - 1 if span.line == span.end_line else len(line)].strip()
    return code if len(code) <= _LONGEST else code[: _LONGEST - 1] + "…"


def _first(function: Function) -> Span:
    """The position of code without a name."""
    span = function.span
    return Span(span.line, span.column, span.line, span.column)
