"""TR314: a recursive function."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ContextId
from terra_refactor.domain.value import BoundMethod, FunctionValue, Value
from terra_refactor.facts.records import Call, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity

_DECIDING: Final = frozenset({RegionKind.IF, RegionKind.CHOICE, RegionKind.CONNECTIVE})


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not view.function_facts.recursive:
        return
    for call in view.context.calls:
        circles = [_circle(view, callee) for callee in call.callees]
        if _is_of_itself(view, call.op):
            circles.append((view.context.id,))
        for circle in circles:
            if circle:
                certain = view.under_tensor_condition(call.op) or _only_tensors_decide(view, circle)
                message = f"{view.function.qualname} calls itself, directly or through others: tracing it may never end"
                ends = f"the recursion of `{view.function.qualname}` ends while it is traced"
                yield LocalHazard(call.op, message, None if certain else ends)
                return


def _is_of_itself(view: ContextView, number: OpId) -> bool:
    """Whether an operation calls its own function; a context that calls itself with its own arguments has no other callee."""
    call = view.made(number)
    return isinstance(call, Call) and view.any_of(call.function, lambda value: _function_of(value) == view.function.id)


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
        context = view.facts.contexts[pending.pop()]
        if context.function == view.context.function:
            back.append(context.id)
            continue
        for call in context.calls:
            for callee in call.callees:
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
