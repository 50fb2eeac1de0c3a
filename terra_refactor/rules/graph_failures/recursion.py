"""TR314: a recursive function."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextId
from terra_refactor.domain.value import BoundMethod, FunctionValue, Value, members
from terra_refactor.facts.records import Call, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity

_DECIDING: Final = frozenset({RegionKind.IF, RegionKind.CHOICE, RegionKind.CONNECTIVE})


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not view.function_facts.recursive:
        return
    for op, callee in _entered(view, view):
        if circle := _circle(view, callee):
            certain = view.under_tensor_condition(op) or _only_tensors_decide(view, circle)
            message = f"{view.function.qualname} calls itself, directly or through others: tracing it may never end"
            ends = f"the recursion of `{view.function.qualname}` ends while it is traced"
            yield LocalHazard(op, message, None if certain else ends)
            return


def _entered(view: ContextView, caller: ContextView) -> Iterator[tuple[OpId, ContextId]]:
    """The calls in a context with the contexts that they enter, which may be on a path back to the view's function.

    The analysis follows no call of a function whose context is running: that may be any context of the function.
    """
    for call in caller.context.calls:
        yield from ((call.op, callee) for callee in call.callees)
    for made in caller.code.of_kind(Call):
        found = caller.calls.get(made.op)
        if found is not None and found.callees:
            continue
        for value in members(caller.value(made.function)):
            function = _function_of(value)
            if function == view.function.id:
                yield made.op, view.context.id
            elif function is not None and view.facts.functions[function].recursive:
                yield from ((made.op, context.id) for context in view.facts.contexts_of(function))


def _function_of(value: Value) -> FunctionId | None:
    function = value.function if isinstance(value, BoundMethod) else value
    return FunctionId(*function.function) if isinstance(function, FunctionValue) else None


def _only_tensors_decide(view: ContextView, circle: Collection[ContextId]) -> bool:
    """Whether only tensors decide if the recursion continues: Python values would end it during the trace.

    Without any condition the recursion ends at another callee (a method of another class), which the trace follows as
    well.
    """
    deciding = [
        each.kind_of(region)
        for each in (view, *(view.of(context) for context in circle if context != view.context.id))
        for region in each.code.of_kind(Region)
        if region.kind in _DECIDING
    ]
    return bool(deciding) and all(kind is BranchKind.TENSOR for kind in deciding)


def _circle(view: ContextView, start: ContextId) -> Collection[ContextId]:
    """The contexts on the paths from `start` back to the view's function; none if it is not reached."""
    callers: dict[ContextId, list[ContextId]] = {}
    pending, seen, back = [start], {start}, []
    while pending:
        inner = view.of(pending.pop())
        context = inner.context
        if context.function == view.context.function:
            back.append(context.id)
            continue
        for _, callee in _entered(view, inner):
            callers.setdefault(callee, []).append(context.id)
            if callee not in seen:
                seen.add(callee)
                pending.append(callee)
    circle = dict.fromkeys(back)
    while back:
        for caller in callers.get(back.pop(), ()):
            if caller not in circle:
                circle[caller] = None
                back.append(caller)
    return circle


RULE: Final = Rule(
    id="TR314",
    name="recursion",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="Tracing a recursive function never ends if only a tensor's value ends the recursion.",
    explanation=(
        "Tracing follows the calls in Python: if only the value of a tensor ends a recursion, its trace never ends "
        "(`RecursionError`, or a stack overflow). A recursion that Python values end is unrolled into the graph."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def power(x, n):
    if n <= 0:
        return x
    return x * power(x, n - 1)  # TR314


power(tf.constant(2.0), tf.constant(3))
""",
        good="""\
import tensorflow as tf


@tf.function
def power(x, n):
    result = x
    for _ in tf.range(n):
        result = result * x
    return result


power(tf.constant(2.0), tf.constant(3))
""",
    ),
    cure="Write it as a loop.",
    check=check,
)
