"""Benefit of graph execution: an estimate of the operations that one call executes eagerly.

Computes: operations per call, through callees; loops multiply by their known or assumed number of iterations; a
tape's gradient counts for the backward pass. It also estimates the operations of a trace: a loop in a graph is traced
once. Needs: facts and the cost tables of `tf_model`. Gives: `operations`, `Count`.

Source: the default threshold is the break-even point of `benchmarks/tf_function_cost.py`, see docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextFacts, ContextId
from terra_refactor.classify.answers import Question
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.dim import eager
from terra_refactor.domain.value import (
    SUGGESTED,
    Constant,
    FrozenList,
    RangeValue,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.records import Call, Fact, ItemRead, Literal, NameRead, Operation, Region
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.host_sources import is_unknown_call
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.costs import STEPPING, STEPS, Stepping
from terra_refactor.tf_model.graph_traits import is_of_keras
from terra_refactor.tf_model.spec import Trait

LONG_LOOP: Final = 20
"""Number of iterations of a Python loop that computes gradients from which its body should be the graph, not the loop."""
DEFAULT_MIN_OPS: Final = 15
"""With fewer operations per call, calling a traced function does not pay off."""
UNKNOWN_ITERATIONS: Final = 4
"""Assumed number of iterations of a loop of unknown length."""
MAX_COUNT: Final = 1_000_000
BACKWARD_FACTOR: Final = 2
"""Backward operations for each forward operation under a tape."""
NETWORK_OPERATIONS: Final = 9
"""Operations of an unknown callable under a tape: those of a network with three layers, the smallest in practice."""
UPDATE_OPERATIONS: Final = 60
"""Operations of an unknown optimizer that receives its gradients: that network has six variables, and few optimizers do
less for each.
"""


@dataclass(frozen=True, slots=True)
class Count:
    """Operations of one call."""

    executed: int = 0
    """Eagerly."""
    traced: int = 0
    """In a graph, as traced."""
    differentiated: bool = False
    """It computes a gradient of some of them: then an operation costs more, both eagerly and in a trace."""
    open_loops: int = 0
    """Maximum depth of nested Python loops of unknown length: a trace has a copy of the body for each iteration."""
    open_traced: int = 0
    """The operations of a trace that are in such loops."""
    flat: int = 0
    """Operations that a trace creates, including nested graphs, which are traced with it."""

    def __bool__(self) -> bool:
        return bool(self.executed)

    def __add__(self, other: Count) -> Count:
        return Count(
            self.executed + other.executed,
            self.traced + other.traced,
            self.differentiated or other.differentiated,
            max(self.open_loops, other.open_loops),
            self.open_traced + other.open_traced,
            min(self.flat + other.flat, MAX_COUNT),
        )

    def times(self, eager: int, traced: int, open_loops: int = 0) -> Count:
        """The count of a body that runs `eager` times and is traced `traced` times, inside `open_loops` loops of
        unknown length.
        """
        return Count(
            self.executed * eager,
            self.traced * traced,
            self.differentiated,
            self.open_loops + open_loops if self.traced else 0,
            (self.flat if open_loops else self.open_traced) * traced,
            self.flat * traced,
        )


NOTHING: Final = Count()


def largest(counts: Iterable[Count]) -> Count:
    """The maximum of each count."""
    found = tuple(counts)
    return Count(
        max((count.executed for count in found), default=0),
        max((count.traced for count in found), default=0),
        any(count.differentiated for count in found),
        max((count.open_loops for count in found), default=0),
        max((count.open_traced for count in found), default=0),
        max((count.flat for count in found), default=0),
    )


def operations(hazards: HazardMap, context: ContextFacts) -> Count:
    """Estimated numbers of operations that one call in this context executes eagerly, and of operations in its trace."""
    return hazards.ask(_OPERATIONS, context.id)


def asks_tape(hazards: HazardMap, contexts: Iterable[ContextFacts]) -> bool:
    """Whether a function computes gradients in its own code."""
    return any(True for view in map(hazards.view, contexts) for _ in view.calls_with(Trait.COMPUTES_GRADIENT))


def does_most_in(hazards: HazardMap, contexts: Iterable[ContextFacts], functions: Set[FunctionId]) -> bool:
    """Whether a function executes at least half of its operations in some of the functions that it calls."""
    return any(_does_most_in(hazards, context, functions) for context in contexts)


def _does_most_in(hazards: HazardMap, context: ContextFacts, functions: Set[FunctionId]) -> bool:
    inside = outside = 0
    for part in hazards.ask(_BODY, context.id):
        called = [hazards.facts.contexts[callee].function for callee in part.callees]
        times = part.eager * (1 + BACKWARD_FACTOR if part.backward else 1)
        inside += times * max(
            (hazards.ask(_OPERATIONS_OF_FUNCTION, each).executed for each in called if each in functions), default=0
        )
        outside += times * part.own.executed
        if functions.isdisjoint(called):
            outside += times * largest(_of_callee(hazards, context, callee) for callee in part.callees).executed
    return inside >= outside


def _count(hazards: HazardMap, number: ContextId) -> Count:
    context = hazards.facts.contexts[number]
    total = NOTHING
    for part in hazards.ask(_BODY, number):
        count = part.own
        if part.callees:
            count += largest(_of_callee(hazards, context, callee) for callee in part.callees)
        if count:
            if part.backward:
                count = replace(count.times(1 + BACKWARD_FACTOR, 1 + BACKWARD_FACTOR), differentiated=True)
            total += count.times(part.eager, part.traced, part.open_loops)
    return replace(total, executed=min(total.executed, MAX_COUNT), traced=min(total.traced, MAX_COUNT))


def _of_callee(hazards: HazardMap, context: ContextFacts, callee: ContextId) -> Count:
    """The operations that a call executes; none if the callee is traced at the call (the function of a `Dataset.map`)."""
    called = hazards.facts.contexts[callee]
    if hazards.is_hybrid(called.function):
        inner = hazards.ask(_OPERATIONS_OF_FUNCTION, called.function)
        # traced together with the caller, but not part of its graph: its size does not depend on the decorated
        # function
        return replace(inner, executed=1, traced=1, differentiated=False)
    if called.in_graph and not context.in_graph:
        return NOTHING
    return hazards.ask(_OPERATIONS_OF_FUNCTION, called.function)


def _count_of_function(hazards: HazardMap, identity: FunctionId) -> Count:
    """The maximum that a call of the function executes, over all callers."""
    return largest(operations(hazards, context) for context in hazards.facts.contexts_of(identity))


@dataclass(frozen=True, slots=True)
class _Part:
    """An operation of the program that executes TensorFlow operations, or calls a function that may."""

    own: Count
    callees: tuple[ContextId, ...]
    eager: int
    """The number of times that the enclosing loops run it in one call."""
    traced: int
    """The number of times that it is traced."""
    open_loops: int
    """The number of enclosing loops of unknown length."""
    backward: bool
    """It is part of a backward pass."""


def _body(hazards: HazardMap, context: ContextId) -> tuple[_Part, ...]:
    """Counted operations of a context's own code, in order."""
    view = hazards.view(hazards.facts.contexts[context])
    parts = []
    gradient = any(True for _ in view.calls_with(Trait.COMPUTES_GRADIENT))
    taped = gradient and any(map(view.is_taping, view.code.of_kind(Region)))
    counted = {fact.op for fact in (*view.code.of_kind(Operation), *view.code.of_kind(ItemRead))}
    for number in sorted(counted | view.calls.keys()):
        call = view.calls.get(number)
        if call is not None and any(_has_own_graph(name) for name in call.library):
            continue
        own = _own(view, view.made(number))
        if gradient and call is not None and is_unknown_call(view, number):
            own = _of_unknown(view, view.made(number))
        callees = () if call is None else tuple(call.callees)
        if own or callees:
            # the records of a tape that the caller opened are not visible here
            backward = gradient and (not taped or view.is_taped(number))
            parts.append(_Part(own, callees, *_repetitions(view, number), backward))
    return tuple(parts)


_BODY: Final = Question[HazardMap, ContextId, tuple[_Part, ...]](_body, ())
_OPERATIONS: Final = Question(_count, NOTHING)
_OPERATIONS_OF_FUNCTION: Final = Question(_count_of_function, NOTHING)


def _has_own_graph(name: str) -> bool:
    """Whether Keras runs the call in its own graphs: `predict`, `fit`."""
    entity = registry.lookup(name)
    return entity is not None and is_of_keras(name) and Trait.EAGER_ONLY in entity.traits


def _own(view: ContextView, fact: Fact | None) -> Count:
    """The TensorFlow operations that one operation of the program executes itself."""
    match fact:
        case Call():
            return largest(_of_library(view, fact, name) for name in view.library_of(fact.op))
        case Operation(op=op) | ItemRead(op=op):
            one = view.any_of(op, lambda member: is_tensorflow_tensor(member) or _is_suggested(member))
            return Count(1, 1, flat=1) if one else NOTHING
        case _:
            return NOTHING


def _of_unknown(view: ContextView, fact: Fact | None) -> Count:
    """The operations of an unknown call in a function that computes gradients: a network or an optimizer."""
    if not isinstance(fact, Call) or not fact.arguments:
        return NOTHING
    if fact.owner is not None and fact.method in ("apply_gradients", "minimize"):
        return Count(UPDATE_OPERATIONS, UPDATE_OPERATIONS, flat=UPDATE_OPERATIONS)
    given = (member for each in fact.arguments for member in members(view.value(each.value)))
    if view.is_taped(fact.op) and not all(isinstance(member, Constant) for member in given):
        return Count(NETWORK_OPERATIONS, NETWORK_OPERATIONS, flat=NETWORK_OPERATIONS)
    return NOTHING


def _is_suggested(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.reason in SUGGESTED


def _of_library(view: ContextView, call: Call, name: str) -> Count:
    stepping = STEPPING.get(name)
    if stepping is not None:
        return Count(stepping.fixed + stepping.each * _steps(view, call, stepping), stepping.nodes, flat=stepping.nodes)
    entity = registry.lookup(name)
    if entity is None:
        return NOTHING
    executed = entity.operations or (1 if Trait.TENSOR_OPERATION in entity.traits else 0)
    return Count(executed, executed, flat=executed)


def _steps(view: ContextView, call: Call, stepping: Stepping) -> int:
    """The number of iterations of a library function over its argument."""
    place = call.argument(stepping.position, stepping.parameter)
    if place is None or not call.is_plain:
        return STEPS
    axis = stepping.axis
    time_major = None if stepping.time_major is None else call.keyword(stepping.time_major)
    if time_major is not None and view.value(time_major) == Constant(False):
        axis = 1
    sizes = {
        eager(shape[axis]) if (shape := member.type.shape) is not None and axis < len(shape) else None
        for member in members(view.value(place))
        if isinstance(member, TensorValue)
    }
    known = [size for size in sizes if isinstance(size, int)]
    return min(known) if known and len(known) == len(sizes) else STEPS


def _repetitions(view: ContextView, op: int) -> tuple[int, int, int]:
    """The executions and traces of an operation in one call due to its enclosing loops, and the number of loops of
    unknown length.
    """
    eager = traced = 1
    open_loops = 0
    for loop in view.code.loops_around(op):
        times = _iterations(view, loop)
        eager *= times
        if view.kind_of(loop) not in (BranchKind.TENSOR, BranchKind.DATASET):
            traced *= times
            open_loops += _is_open(view, loop)
    return eager, traced, open_loops


def _is_open(view: ContextView, loop: Region) -> bool:
    """Whether a Python loop counts to an unknown number. Containers are usually short: layers, variables, pairs."""
    if loop.iterated is None:
        return True
    is_range = view.any_of(loop.iterated, lambda member: isinstance(member, RangeValue))
    return is_range and known_length(view.value(loop.iterated)) is None


def tapes_open_loops(hazards: HazardMap, contexts: Iterable[ContextFacts]) -> bool:
    """Whether a Python loop of unknown length repeats operations under a tape: each call may run a different number, as
    for episodes.
    """
    for context in contexts:
        view = hazards.view(context)
        for number in view.calls:
            for loop in view.code.loops_around(number) if view.is_taped(number) else ():
                if view.kind_of(loop) in (BranchKind.TENSOR, BranchKind.DATASET):
                    continue
                if loop.iterated is None or known_length(view.value(loop.iterated)) is None:
                    return True
    return False


def why_repeated(hazards: HazardMap, contexts: Iterable[ContextFacts]) -> str | None:
    """Why a function with a Python loop that computes gradients is no graph: the default of `steps` in
    `for _ in range(steps)` is large.
    """
    number = max((hazards.ask(_REPEATED, context.id) for context in contexts), default=0)
    if not number:
        return None
    return (
        f"a trace has a copy of the gradient for each of {number} iterations: the body of the loop should be the graph"
    )


def _repeated(hazards: HazardMap, identity: ContextId) -> int:
    context = hazards.facts.contexts[identity]
    view = hazards.view(context)
    loops = [loop for loop in view.reached(Region) if (_default_length(view, loop) or 0) >= LONG_LOOP]
    if not any(_is_open(view, loop) for loop in loops):
        return 0
    places = [call.op for call, _ in view.calls_with(Trait.COMPUTES_GRADIENT)]
    for call in context.calls:
        if asks_tape(hazards, [hazards.facts.contexts[callee] for callee in call.callees]):
            places.append(call.op)
    around = {loop.op: loop for place in places for loop in view.code.loops_around(place)}
    return max((_default_length(view, loop) or 0 for loop in loops if loop.op in around), default=0)


_REPEATED: Final = Question(_repeated, 0)


def _default_length(view: ContextView, loop: Region) -> int | None:
    made = None if loop.iterated is None else view.made(loop.iterated)
    if not isinstance(made, Call) or made.method != "range" or not made.is_plain or not made.arguments:
        return None
    stop = view.made(made.arguments[min(len(made.arguments) - 1, 1)].value)
    parent = view.function.parent
    maker = None if parent is None else view.codes.of(parent).maker_of(view.function.id)
    if not isinstance(stop, NameRead) or maker is None or parent is None:
        return None
    default = dict(maker.defaults).get(stop.name)
    fact = None if default is None else view.codes.of(parent).facts[default]
    return fact.value if isinstance(fact, Literal) and type(fact.value) is int else None


def _iterations(view: ContextView, loop: Region) -> int:
    if loop.iterated is None or view.kind_of(loop) is BranchKind.DATASET:
        return UNKNOWN_ITERATIONS
    length = known_length(view.value(loop.iterated))
    return UNKNOWN_ITERATIONS if length is None else length


def known_length(value: Value) -> int | None:
    """The number of elements of a Python value that is iterated over; None if unknown."""
    match value:
        case TupleValue(elements):
            return len(elements)
        case FrozenList(elements) if elements is not None:
            return len(elements)
        case RangeValue(Constant(int() as start), Constant(int() as stop), Constant(int() as step)) if step:
            return max(len(range(start, stop, step)), 0)
        case _:
            return None
