"""The number of calls of a function in one run of the program, if known; and the number of calls after which a trace
pays off.

Computes: an upper bound of the calls from code outside of graphs: calls of the caller, in any module, times the known
lengths of the loops around; whether a tape records them; how often a nested `def` is executed. Needs: facts. Gives:
`CallCount`, `calls_until_paid`. Ignores: unknown counts (loops of unknown length, callers outside of the program): it
may be called any number of times.

Only a program has known counts: a notebook, or code under `if __name__ == "__main__"`. A module-level call may be an
example of a function that other code calls often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextFacts, EntryKind
from terra_refactor.classify.benefit import Count, known_length
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import DatasetValue, RangeValue, members
from terra_refactor.facts.records import Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId


@dataclass(frozen=True, slots=True)
class GraphCost:
    """Cost and savings of a graph."""

    trace_milliseconds: float
    """One trace of a function with one operation, including its first run."""
    trace_milliseconds_for_each: float
    """Additional time for each operation."""
    call_microseconds: float
    """One call of a traced function of one or two arguments."""
    saved_microseconds: float
    """For each operation that runs in a graph."""


PLAIN: Final = GraphCost(18.0, 0.77, 140.0, 15.5)
DIFFERENTIATED: Final = GraphCost(18.0, 1.5, 140.0, 45.0)
"""If the function has its own tape: eagerly the tape records and plays back in Python; the trace runs twice if an
optimizer creates its variables in the first one.
"""
UNDER_TAPE: Final = GraphCost(60.0, 2.5, 330.0, 40.0)
"""If a tape of the eager caller records the calls: the gradient becomes a graph, too.

Source of all three: `benchmarks/tf_function_cost.py`, see docs/benchmarks.md.
"""
MARGIN: Final = 1.25
"""Safety factor on the number of calls after which a trace pays off, since the estimate is not exact."""

BOMB: Final = 500
"""Number of operations that take half a second to trace and a second to optimise: requires evidence of repeated calls."""
BOMB_CALLS: Final = 60
"""Number of calls after which a trace of any length pays off, if each operation saves the time in `PLAIN`."""
HUGE: Final = 40_000
"""Number of operations that take minutes to trace and to optimise: requires that the calls that pay for it are known."""
OFTEN: Final = 160
"""Assumed number of calls of a function if it is unknown."""


def calls_until_paid(count: Count, *, traces: int = 1, under_tape: bool = False) -> float:
    """Number of calls after which a graph with these operations has paid off; infinite if never."""
    cost = cost_of(count, under_tape=under_tape)
    saved = count.executed * cost.saved_microseconds - cost.call_microseconds
    traced = traces * (cost.trace_milliseconds + count.traced * cost.trace_milliseconds_for_each)
    return math.ceil(traced * 1000 / saved) if saved > 0 else math.inf


def cost_of(count: Count, *, under_tape: bool) -> GraphCost:
    """Cost and savings of a graph by its number of operations."""
    return UNDER_TAPE if under_tape else DIFFERENTIATED if count.differentiated else PLAIN


class CallCount:
    """Calls of functions in one run."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards

    def of(
        self, identity: FunctionId, is_graph: Callable[[FunctionId], bool], *, seen_only: bool = False
    ) -> int | None:
        """Maximum number of calls from outside of graphs; None if unknown.

        `is_graph`: the caller is, or becomes, one. `seen_only`: a module-level call is not taken as an example of
        other calls.
        """
        return self._of(identity, is_graph, {}, seen_only)

    def _of(
        self,
        identity: FunctionId,
        is_graph: Callable[[FunctionId], bool],
        known: dict[FunctionId, int | None],
        seen_only: bool,
    ) -> int | None:
        """`known`: the counts so far for this query, since paths through a program branch and merge.

        While a function is being counted its entry is None, which ends cycles.
        """
        if identity not in known:
            known[identity] = None
            known[identity] = self._counted(identity, is_graph, known, seen_only)
        return known[identity]

    def _counted(
        self,
        identity: FunctionId,
        is_graph: Callable[[FunctionId], bool],
        known: dict[FunctionId, int | None],
        seen_only: bool,
    ) -> int | None:
        facts = self.hazards.whole_facts
        contexts = facts.contexts_of(identity)
        found = facts.functions.get(identity)
        if found is None or found.recursive or found.open_callers or not found.callers:
            return None
        if any(context.entry is not EntryKind.CALLED for context in contexts):
            return None
        total = 0
        for (caller_id, op), calling in self._places(identity).items():
            if is_graph(caller_id):
                continue
            if self.hazards.whole_program.function(caller_id).kind is FunctionKind.MODULE:
                outer = 1 if seen_only or self._is_program(calling[0], op) else None
            else:
                outer = self._of(caller_id, is_graph, known, seen_only)
            if outer is None:
                return None
            times = self._most(calling, op)
            if times is None:
                return None
            total += outer * times
        return total

    def _places(self, identity: FunctionId) -> dict[tuple[FunctionId, OpId], list[ContextFacts]]:
        """The call sites of a function, each with the contexts in which it is called."""
        facts = self.hazards.whole_facts
        places: dict[tuple[FunctionId, OpId], list[ContextFacts]] = {}
        for caller in facts.functions[identity].callers:
            context = facts.contexts[caller.context]
            places.setdefault((context.function, caller.op), []).append(context)
        return places

    def _most(self, contexts: Iterable[ContextFacts], op: OpId) -> int | None:
        """Maximum number of times that the loops around an operation run it in one call, over contexts; None if unknown."""
        times = [self._repetitions(self.hazards.view(context), op) for context in contexts]
        return None if None in times else max(each for each in times if each is not None)

    def definitions(self, identity: FunctionId) -> int | None:
        """Maximum number of times a `def` in a function or loop is executed, which creates a function each time; None if unknown.

        A module-level call counts as one: it runs once, even if the callee has other callers.
        """
        code, facts = self.hazards.whole_program.function(identity), self.hazards.whole_facts
        if code.kind not in (FunctionKind.NESTED, FunctionKind.FUNCTION) or code.parent is None:
            return 1
        maker = self.hazards.index(code.parent).maker_of(identity)
        made = None if maker is None else maker.op
        contexts = facts.contexts_of(code.parent)
        if code.kind is FunctionKind.FUNCTION and (made is None or not contexts):
            return 1
        if made is None or not contexts:
            return None
        times = self._most(contexts, made)
        runs = self._runs(code.parent, {})
        if runs != 1 and times == 1 and self._is_step_of_training(identity, code.parent, made):
            return 1  # however often the enclosing function is called, each of its calls must pay for its own trace
        return None if times is None or runs is None else times * runs

    def is_counted(self, identity: FunctionId) -> bool:
        """Whether the number of executions of a `def`, or of the calls after each, is known to some extent."""
        return self.definitions(identity) is not None or self.of_each_definition(identity) is not None

    def pays_each_definition(self, identity: FunctionId, count: Count, *, traces: int) -> bool:
        """Whether the calls after each execution of a `def` pay for its traces, however often it is executed."""
        calls = self.of_each_definition(identity)
        return calls is not None and calls >= MARGIN * calls_until_paid(count, traces=traces)

    def of_each_definition(self, identity: FunctionId) -> int | None:
        """The minimum number of calls after each execution of a `def` in a function; None if unknown, or if other functions call it.

        All these calls occur in the run of the enclosing function that executes the `def` once.
        """
        code = self.hazards.whole_program.function(identity)
        if code.kind is not FunctionKind.NESTED or code.parent is None:
            return None
        maker = self.hazards.index(code.parent).maker_of(identity)
        contexts = self.hazards.whole_facts.contexts_of(code.parent)
        if maker is None or not contexts or self._most(contexts, maker.op) != 1:
            return None
        least: list[int] = []
        for (caller, op), calling in self._places(identity).items():
            if caller != code.parent or any(
                outer.kind in (RegionKind.IF, RegionKind.TRY) for outer in self.hazards.view(calling[0]).enclosing(op)
            ):
                return None
            times = [self._repetitions(self.hazards.view(context), op) for context in calling]
            if None in times:
                return None
            least.append(min(each for each in times if each is not None))
        return max(least, default=None)

    def _is_step_of_training(self, identity: FunctionId, around: FunctionId, made: OpId) -> bool:
        """Whether each call of a nested function is in nested loops of unknown length in the enclosing function: epochs
        and batches.

        One loop is enough for a step that updates variables, if it does not only count iterations, or if the enclosing function
        creates the network or the optimizer: then each of them needs its own step.
        """
        places = self._places(identity)
        code = self.hazards.index(around)
        made_in = set(code.loops_around(made))
        for (caller, op), calling in places.items():
            if caller != around:
                return False
            loops = [loop for loop in code.loops_around(op) if loop not in made_in]
            open_ones = [
                loop for loop in loops if any(_length(self.hazards.view(context), loop) is None for context in calling)
            ]
            counted = [self._counts(calling, loop) for loop in open_ones]
            enough = 1 if self._trains(identity) and (self._makes_variables(around) or not all(counted)) else 2
            if len(loops) < enough or not open_ones:
                return False
        return bool(places)

    def _counts(self, contexts: Iterable[ContextFacts], loop: Region) -> bool:
        """Whether a loop counts, or runs until a condition holds."""
        return loop.iterated is None or any(
            isinstance(member, RangeValue)
            for context in contexts
            for member in members(self.hazards.view(context).value(loop.iterated))
        )

    def _trains(self, identity: FunctionId) -> bool:
        """Whether the function updates variables, as far as known."""
        return any(
            effect.kind is EffectKind.TENSOR_STATE
            or (effect.kind is EffectKind.UNKNOWN_CALL and effect.detail.endswith((".apply_gradients", ".minimize")))
            for context in self.hazards.whole_facts.contexts_of(identity)
            for effect in context.effects
        )

    def _makes_variables(self, identity: FunctionId) -> bool:
        return any(
            effect.kind is EffectKind.VARIABLE_CREATION
            for context in self.hazards.whole_facts.contexts_of(identity)
            for effect in context.effects
        )

    def _runs(self, identity: FunctionId, known: dict[FunctionId, int | None]) -> int | None:
        """Upper bound of the calls of a function from anywhere in the program; `known` as in `_of`."""
        if identity not in known:
            known[identity] = None
            known[identity] = self._counted_runs(identity, known)
        return known[identity]

    def _counted_runs(self, identity: FunctionId, known: dict[FunctionId, int | None]) -> int | None:
        facts = self.hazards.whole_facts
        found, code = facts.functions[identity], self.hazards.whole_program.function(identity)
        if code.kind is FunctionKind.MODULE:
            return 1
        if found.recursive or found.open_callers or not found.callers:
            return None
        if any(context.entry is not EntryKind.CALLED for context in facts.contexts_of(identity)):
            return None
        total = 0
        for (caller, op), calling in self._places(identity).items():
            times, runs = self._most(calling, op), self._runs(caller, known)
            if times is None or runs is None:
                return None
            total += times * runs
        return total

    def under_tape(self, identity: FunctionId, is_graph: Callable[[FunctionId], bool]) -> bool:
        """Whether an eager tape is open where the function is called from outside of graphs, directly or indirectly."""
        facts = self.hazards.whole_facts
        pending, seen = [identity], {identity}
        while pending:
            for caller in facts.functions[pending.pop()].callers:
                context = facts.contexts[caller.context]
                if is_graph(context.function):
                    continue
                view = self.hazards.view(context)
                if view.is_taped(caller.op):
                    return True
                if context.function not in seen:
                    seen.add(context.function)
                    pending.append(context.function)
        return False

    def _is_program(self, context: ContextFacts, op: int) -> bool:
        path = self.hazards.whole_program.modules[context.function.module].path
        if path.endswith(".ipynb"):
            return True
        return any(outer.kind is RegionKind.IF for outer in self.hazards.view(context).enclosing(op))

    def _repetitions(self, view: ContextView, op: int) -> int | None:
        times = 1
        for loop in view.code.loops_around(op):
            length = _length(view, loop)
            if length is None:
                return None
            times *= length
        return times


def _length(view: ContextView, loop: Region) -> int | None:
    if loop.iterated is None:
        return None
    value = view.value(loop.iterated)
    if view.kind_of(loop) is BranchKind.DATASET:
        return value.cardinality if isinstance(value, DatasetValue) and isinstance(value.cardinality, int) else None
    return known_length(value)
