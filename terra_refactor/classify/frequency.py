"""How often a function is called from eager code, as far as the program shows: evidence for whether a graph pays off.

Computes: whether some call outside of graphs is repeated, whether all are part of a setup, whether the project calls
the function at all. Needs: facts. Gives: `CallFrequency`, `Frequency`. A call of an unknown object's method counts
for every method of that name. Ignores: lengths of loops (see `calls.py`); calls in tests, which are no evidence about
a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cached_property
from typing import Final, TypeAlias

from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.testing import is_in_test_file
from terra_refactor.classify.benefit import known_length
from terra_refactor.classify.each_context import about_each_context
from terra_refactor.classify.generation import imported_modules
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import BoundMethod, FunctionValue, PartialValue, Value, members
from terra_refactor.facts.records import AttributeWrite, Call, ItemWrite, RegionKind, Return
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId

CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__setstate__", "build"})
_SHORT: Final = 8
"""A loop of at most this many iterations is assumed to iterate over parts (layers, levels, heads), and is not a repetition."""

_IsGraph: TypeAlias = Callable[[FunctionId], bool]
_Place: TypeAlias = tuple[FunctionId, OpId]
"""A caller, and its call operation."""


class Frequency(IntEnum):
    """How often a function is called from eager code; of several calls the most frequent counts."""

    NEVER = 0
    """It is known that the program, which starts here, does not call it."""
    IN_GRAPHS = 1
    """Only graphs call it."""
    SET_UP = 2
    """Once for each created object, or once in a run."""
    UNKNOWN = 3
    """Unknown in this project: other code may call it."""
    REPEATED = 4
    """In a loop, or by a framework."""


class CallFrequency:
    """The call frequencies of the functions of one program."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards

    def of(self, identity: FunctionId, is_graph: _IsGraph) -> Frequency:
        """The frequency of calls of the function from outside of graphs, direct or indirect."""
        facts, program = self.hazards.whole_facts, self.hazards.whole_program
        pending, seen, ends = [identity], {identity}, set[Frequency]()
        while pending:
            code = program.function(current := pending.pop())
            if any(context.entry is EntryKind.FRAMEWORK for context in facts.contexts_of(current)):
                return Frequency.REPEATED
            places = [place for place in self._places(code) if place[0] != current]
            if not places:
                ends.add(self._without_callers(code))
            elif facts.functions[current].open_callers or current in self.given:
                ends.add(Frequency.UNKNOWN)
            for caller, op, certain in places:
                if is_graph(caller):
                    ends.update([Frequency.IN_GRAPHS] if certain else ())
                    continue
                found = self._at(caller, op)
                if found is Frequency.REPEATED:
                    return found
                if found is not None:
                    ends.add(found)
                elif caller not in seen:
                    seen.add(caller)
                    pending.append(caller)
        return max(ends, default=Frequency.UNKNOWN)

    def _at(self, caller: FunctionId, op: OpId) -> Frequency | None:
        """The frequency of one call; None if it is as frequent as its function."""
        code = self.hazards.whole_program.function(caller)
        if is_in_test_file(self.hazards.whole_program, code):
            return Frequency.UNKNOWN
        if code.name in CONSTRUCTORS and code.kind is FunctionKind.METHOD:
            return Frequency.SET_UP
        views = [self.hazards.view(context) for context in self.hazards.whole_facts.contexts_of(caller)]
        if any(_is_repeated(view, op) for view in views):
            return Frequency.REPEATED
        if code.kind is FunctionKind.MODULE:
            # under a condition it is a program's start; otherwise it may be an example
            guarded = any(outer.kind is RegionKind.IF for view in views for outer in view.enclosing(op))
            return Frequency.SET_UP if guarded else Frequency.UNKNOWN
        return Frequency.SET_UP if code.kind is FunctionKind.CLASS_BODY else None

    def _without_callers(self, code: Function) -> Frequency:
        if code.name in CONSTRUCTORS and code.kind is FunctionKind.METHOD:
            return Frequency.SET_UP
        if code.id.module not in self.scripts or code.id in self.given or self._is_overriding(code):
            return Frequency.UNKNOWN
        return Frequency.NEVER

    def _is_overriding(self, code: Function) -> bool:
        """Whether it is a method of a class with bases, which may call it in ways that are not visible."""
        if code.kind is FunctionKind.FUNCTION:
            return False
        if code.kind is not FunctionKind.METHOD or code.parent is None or code.name.startswith("__"):
            return True
        outer = self.hazards.whole_program.function(code.parent).parent
        made = None if outer is None else self.hazards.codes.class_made_of(outer, code.parent)
        return made is None or bool(made.bases)

    def _places(self, code: Function) -> Iterator[tuple[FunctionId, OpId, bool]]:
        """The calls of a function, including possible calls on unknown objects; and whether each is certain."""
        facts = self.hazards.whole_facts
        found = {(facts.function_of(caller.context), caller.op) for caller in facts.functions[code.id].callers}
        found |= self.by_function.get(code.id, set())
        for caller, op in found:
            yield caller, op, True
        more = self.by_name.get(code.name, set()) if code.kind is FunctionKind.METHOD else set[_Place]()
        for caller, op in more - found:
            yield caller, op, False

    @cached_property
    def by_name(self) -> dict[str, set[_Place]]:
        """The calls of methods of unknown objects, by the method's name."""
        found: dict[str, set[_Place]] = {}
        for context, calls in self.hazards.of_each(_calls_by_name):
            for method, op in calls:
                found.setdefault(method, set()).add((context.function, op))
        return found

    @cached_property
    def by_function(self) -> dict[FunctionId, set[_Place]]:
        """The calls of functions that the analysis did not follow, for example because the caller has no callers itself."""
        found: dict[FunctionId, set[_Place]] = {}
        for context, calls in self.hazards.of_each(_calls_not_followed):
            for function, op in calls:
                found.setdefault(function, set()).add((context.function, op))
        return found

    @cached_property
    def given(self) -> frozenset[FunctionId]:
        """The functions passed as values to unknown callers."""
        return frozenset[FunctionId]().union(*(functions for _, functions in self.hazards.of_each(_handed_on)))

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The modules that are scripts: not part of a package, not imported by others, with module-level calls of functions."""
        program, facts = self.hazards.whole_program, self.hazards.whole_facts
        imported = frozenset[str]().union(*imported_modules(self.hazards).values())
        running = {
            context.function.module
            for context in facts.contexts
            if program.function(context.function).kind is FunctionKind.MODULE
            and any(
                program.function(facts.function_of(callee)).kind is not FunctionKind.CLASS_BODY
                for call in context.calls
                for callee in call.callees
            )
        }
        return frozenset(
            name
            for name, module in program.modules.items()
            if name in running
            and name not in imported
            and "." not in name
            and not module.is_package
            and not imports_relatively(self.hazards, name)
        )


def imports_relatively(hazards: HazardMap, name: str) -> bool:
    """Whether a module can only be part of a package: a script has no relative imports."""
    functions = hazards.whole_program.modules[name].functions
    return any(each.level for function in functions for each in hazards.imports_of(function.id))


def functions_in(value: Value) -> Iterator[FunctionId]:
    """The functions of the program that a value is, also as a partial application or bound method."""
    for member in members(value):
        if isinstance(member, FunctionValue):
            yield FunctionId(*member.function)
        elif isinstance(member, PartialValue | BoundMethod):
            yield from functions_in(member.function)


@about_each_context
def _calls_by_name(view: ContextView) -> tuple[tuple[str, OpId], ...]:
    """The calls of methods of unknown objects."""
    return tuple(
        (call.method, call.op)
        for call in view.code.of_kind(Call)
        if call.owner is not None and ((fact := view.calls.get(call.op)) is None or fact.unknown is not None)
    )


@about_each_context
def _calls_not_followed(view: ContextView) -> tuple[tuple[FunctionId, OpId], ...]:
    """The calls of functions of the program that have no context."""
    return tuple(
        (function, call.op)
        for call in view.code.of_kind(Call)
        if (fact := view.calls.get(call.op)) is None or not fact.callees
        for function in functions_in(view.value(call.function))
    )


@about_each_context
def _handed_on(view: ContextView) -> frozenset[FunctionId]:
    """The functions that are arguments, parts of objects, or results."""
    values = [argument.value for call in view.code.of_kind(Call) for argument in call.arguments]
    values += [write.value for write in (*view.code.of_kind(ItemWrite), *view.code.of_kind(AttributeWrite))]
    values += [place.value for place in view.code.of_kind(Return) if place.value is not None]
    return frozenset(function for value in values for function in functions_in(view.value(value)))


def _is_repeated(view: ContextView, op: OpId) -> bool:
    """Whether a loop around a call may run it often."""
    lengths = (
        None if loop.iterated is None else known_length(view.value(loop.iterated))
        for loop in view.code.loops_around(op)
    )
    return any(length is None or length > _SHORT for length in lengths)
