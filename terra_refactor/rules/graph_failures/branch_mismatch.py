"""TR306: branches on a tensor whose outcomes do not match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.domain.value import NONE, UNBOUND, TensorValue, TupleValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView


def check(view: ContextView) -> Iterator[LocalHazard]:
    for branch in view.branches.values():
        op = view.op(branch.op)
        if branch.kind is not BranchKind.TENSOR or not isinstance(op, ops.If) or op.is_assert:
            continue
        if not all(branch.falls_through):
            continue
        used = _loaded_after(view, op)
        for name, first, second in branch.changed:
            problem = _mismatch(first, second)
            if problem is not None and name in used:
                yield LocalHazard(
                    op.id, f"`{name}` {problem} after the branch on a tensor: in a graph both sides must agree"
                )
                break


def _loaded_after(view: ContextView, branch: ops.If) -> set[str]:
    """The names that are read behind the branch, or anywhere if it is in a loop."""
    in_loop = any(isinstance(outer, ops.For | ops.While) for outer in view.enclosing(branch.id))
    inside = {op.id for op in walk((branch,))}
    last = max(inside)
    return {
        op.name
        for op in view.code.ops
        if isinstance(op, ops.LoadName) and op.id not in inside and (in_loop or op.id > last)
    }


def _mismatch(first: Value, second: Value) -> str | None:
    firsts, seconds = members(first), members(second)
    if (UNBOUND in firsts) is not (UNBOUND in seconds):
        return "is not defined on one side"
    if (firsts == (NONE,)) is not (seconds == (NONE,)) and all(_is_definite(value) for value in (*firsts, *seconds)):
        return "is None on one side only"
    if len(firsts) == len(seconds) == 1:
        a, b = firsts[0], seconds[0]
        if isinstance(a, TensorValue) and isinstance(b, TensorValue):
            if a.type.dtype is not None and b.type.dtype is not None and a.type.dtype != b.type.dtype:
                return f"is {a.type.dtype} on one side and {b.type.dtype} on the other"
        if isinstance(a, TupleValue) and isinstance(b, TupleValue) and len(a.elements) != len(b.elements):
            return "is a tuple of another length on one side"
    return None


def _is_definite(value: Value) -> bool:
    return isinstance(value, TensorValue | TupleValue) or value == NONE


RULE: Final = Rule(
    id="TR306",
    name="branch-mismatch",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "A branch on a tensor that gives a variable another type on one side, or leaves it undefined, or returns a value on one side "
        "and None on the other, raises in a graph."
    ),
    explanation=(
        "AutoGraph turns the branch into `tf.cond`, both sides of which must give the same structure: `ValueError: 'y' must also be "
        "initialized in the else branch`, `TypeError: 'y' must have the same dtype`, or `... must also have a value in the else "
        "branch`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    if tf.reduce_sum(x) > 0.0:  # TR306
        y = x
    return y


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    y = tf.zeros_like(x)
    if tf.reduce_sum(x) > 0.0:
        y = x
    return y


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x, double=False):
    if double:
        y = x * 2.0
    else:
        y = (x, x)
    return y


step(tf.ones([3]))
""",
    ),
    cure="Give every variable a value of the same type on both sides.",
    check=check,
)
