"""TR314: a function that reaches itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.ir import ops
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not view.function_facts.recursive:
        return
    own = view.context.function
    for call in view.context.calls:
        for callee in call.callees:
            if _reaches(view, callee, own):
                certain = _never_ends_while_traced(view, call.op)
                message = f"{view.function.qualname} reaches itself: a trace of it may have no end"
                ends = f"the recursion of `{view.function.qualname}` ends while it is traced"
                yield LocalHazard(call.op, message, None if certain else ends)
                return


def _never_ends_while_traced(view: ContextView, call: int) -> bool:
    """Whether nothing but tensors decides if the function goes on: Python values would end the recursion during the trace.

    Without any condition it ends by what the calls lead to (a method of another class), which the trace follows as well.
    """
    deciding = [
        view.branches.get(op.id) for op in view.code.ops if isinstance(op, ops.If | ops.IfExpression | ops.ShortCircuit)
    ]
    return (
        bool(deciding) and all(branch is not None and branch.kind is BranchKind.TENSOR for branch in deciding)
    ) or view.under_tensor_condition(call)


def _reaches(view: ContextView, start: int, target: object) -> bool:
    """Whether a call in the context `start` leads to the function `target`."""
    pending, seen = [start], {start}
    while pending:
        context = view.facts.contexts[pending.pop()]
        if context.function == target:
            return True
        for call in context.calls:
            for callee in call.callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)
    return False


RULE: Final = Rule(
    id="TR314",
    name="recursion",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A function that calls itself, directly or through others, has no end as a graph.",
    explanation=(
        "Tracing follows the calls in Python: a recursion that a tensor's value ends never ends while it is traced (`RecursionError`, "
        "or a stack overflow). A recursion that Python values end is unrolled into the graph."
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
