"""Does graph execution pay? An estimate of the operations that one call executes eagerly.

Computes: operations per call, through callees; loops multiply by their known or assumed number of iterations; a
tape's gradient counts for the backward pass. Needs: facts and the cost table of `tf_model`. Gives: `OperationCount`.

Source: the default threshold is the break-even point of `benchmarks/tf_function_cost.py`, see docs/benchmarks.md.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextFacts, ContextId
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import Constant, FrozenList, RangeValue, TupleValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import Trait

DEFAULT_MIN_OPS: Final = 15
"""Fewer operations than this per call do not pay for the call of a traced function."""
UNKNOWN_ITERATIONS: Final = 4
"""A loop of unknown length counts so often."""
MAX_COUNT: Final = 1_000_000
BACKWARD_FACTOR: Final = 2
"""Backward operations for each forward operation under a tape."""
_GRADIENT: Final = frozenset(
    {
        "tensorflow.GradientTape.gradient",
        "tensorflow.GradientTape.jacobian",
        "tensorflow.gradients",
        "tensorflow.compat.v1.train.Optimizer.minimize",
    }
)


class OperationCount:
    """Operations per call, by context."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self._counts: dict[ContextId, int] = {}
        self._functions: dict[FunctionId, int] = {}

    def of(self, context: ContextFacts) -> int:
        """About how many eager operations one call in this context executes."""
        known = self._counts.get(context.id)
        if known is not None:
            return known
        self._counts[context.id] = 0
        view = self.hazards.view(context)
        total = 0
        backward = False
        for op in view.code.ops:
            if op is None:
                continue
            count = self._own(view, op)
            call = view.calls.get(op.id)
            if call is not None:
                backward = backward or not _GRADIENT.isdisjoint(call.library)
                if call.callees:
                    count += max(self._of_callee(context, callee) for callee in call.callees)
            if count:
                total += count * self._repetitions(view, op.id)
        if backward:
            total *= 1 + BACKWARD_FACTOR
        total = min(total, MAX_COUNT)
        self._counts[context.id] = total
        return total

    def _of_callee(self, context: ContextFacts, callee: ContextId) -> int:
        """What a call executes; nothing if the callee is traced there and then (the function of a `Dataset.map`)."""
        called = self.hazards.facts.contexts[callee]
        if called.in_graph and not context.in_graph and not self.hazards.is_hybrid(called.function):
            return 0
        return self.of_function(called.function)

    def of_function(self, identity: FunctionId) -> int:
        """The most that a call of the function executes, whoever calls it; one operation if it is a graph."""
        if self.hazards.is_hybrid(identity):
            return 1
        known = self._functions.get(identity)
        if known is None:
            self._functions[identity] = 0
            contexts = self.hazards.facts.contexts_of(identity)
            known = self._functions[identity] = max((self.of(context) for context in contexts), default=0)
        return known

    def _own(self, view: ContextView, op: ops.Op) -> int:
        match op:
            case ops.Call():
                call = view.calls.get(op.id)
                if call is None:
                    return 0
                return max((_operations(name) for name in call.library), default=0)
            case ops.Binary() | ops.Compare() | ops.Unary() | ops.LoadItem():
                value = view.value(op.id)
                return 1 if any(is_tensorflow_tensor(member) for member in members(value)) else 0
            case _:
                return 0

    def _repetitions(self, view: ContextView, op: int) -> int:
        times = 1
        inner = op
        for outer in view.enclosing(op):
            if isinstance(outer, ops.For | ops.While | ops.Comprehension):
                if isinstance(outer, ops.For) and any(part.id == inner for part in outer.else_block):
                    continue
                times *= _iterations(view, outer)
            inner = outer.id
        return times


def _operations(name: str) -> int:
    entity = registry.lookup(name)
    if entity is None:
        return 0
    if entity.operations:
        return entity.operations
    return 1 if Trait.TENSOR_OPERATION in entity.traits else 0


def _iterations(view: ContextView, loop: ops.For | ops.While | ops.Comprehension) -> int:
    if isinstance(loop, ops.While):
        return UNKNOWN_ITERATIONS
    fact = view.branches.get(loop.id)
    if fact is not None and fact.kind is BranchKind.DATASET:
        return UNKNOWN_ITERATIONS
    length = known_length(view.value(loop.iterable))
    return UNKNOWN_ITERATIONS if length is None else length


def known_length(value: Value) -> int | None:
    """How many elements a Python value gives when it is iterated over; None if that is not known."""
    match value:
        case TupleValue(elements):
            return len(elements)
        case FrozenList(elements) if elements is not None:
            return len(elements)
        case RangeValue(Constant(int() as start), Constant(int() as stop), Constant(int() as step)) if step:
            return max(len(range(start, stop, step)), 0)
        case _:
            return None
