"""TR322: a container that changes on one side of a condition on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.domain.value import Reference, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView
from terra_refactor.tf_model.python_effects import MUTATING_METHODS


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        owner, _, method = name.rpartition(".")
        function = view.op(call.function)
        if (
            method in MUTATING_METHODS.get(owner, ())
            and owner != "numpy.ndarray"
            and isinstance(function, ops.LoadAttribute)
        ):
            condition = _condition(view, call.id)
            if condition is not None and not _made_inside(view, function.object, condition):
                yield LocalHazard(
                    call.id,
                    f"`{view.written(call.id)}` under a condition on a tensor: a trace runs both sides, so it always happens",
                )
    for op in view.code.ops:
        if isinstance(op, ops.StoreItem | ops.DeleteItem) and _is_dict(view, op.object):
            condition = _condition(view, op.id)
            if condition is None or _made_inside(view, op.object, condition):
                continue
            written = view.written(op.object)
            if isinstance(op, ops.DeleteItem):
                yield LocalHazard(
                    op.id, f"an item of `{written}` is deleted under a condition on a tensor: a trace always does it"
                )
            else:
                yield LocalHazard(
                    op.id,
                    f"an item of `{written}` is set under a condition on a tensor: a graph needs it on the other side, too",
                    f"`{written}` has that item on both sides of the condition",
                )


def _condition(view: ContextView, number: OpId) -> ops.If | None:
    """The innermost statement around an operation that decides by a tensor whether it runs."""
    for outer in view.enclosing(number):
        fact = view.branches.get(outer.id)
        if isinstance(outer, ops.If) and fact is not None and fact.kind is BranchKind.TENSOR:
            return outer
    return None


def _is_dict(view: ContextView, number: OpId) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(
        isinstance(member, Reference) and view.facts.objects[member.object].kind is ObjectKind.DICT
        for member in alternatives
    )


def _made_inside(view: ContextView, container: OpId, condition: ops.If) -> bool:
    """Whether the container is a local variable that is set within the same statement."""
    target = view.op(container)
    return isinstance(target, ops.LoadName) and any(
        isinstance(op, ops.StoreName) and op.name == target.name for op in walk((condition,))
    )


RULE: Final = Rule(
    id="TR322",
    name="change-under-tensor-condition",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`list.append` and the like under a condition on a tensor happen in every trace, whatever the tensor says.",
    explanation=(
        "AutoGraph makes a `tf.cond` of the statement and traces both sides. Variables that are assigned become results of the condition; "
        "a list, dict or set that is changed in place has changed after the trace, on whichever side it was: the graph goes on with the "
        "change always, silently. An item of a dict that one side sets raises `ValueError: 'd['b']' must also be initialized in the "
        "else branch` unless it was there before."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = [x]
    if tf.reduce_sum(x) > 0.0:
        parts.append(-x)  # TR322
    return tf.stack(parts)


result = step(tf.constant([-1.0, -2.0]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = tf.stack([x])
    if tf.reduce_sum(x) > 0.0:
        parts = tf.stack([x, x])
    else:
        parts = tf.stack([x, -x])
    return parts


result = step(tf.constant([-1.0, -2.0]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = [x]
    if x.shape[0] > 1:
        parts.append(-x)
    return tf.stack(parts)


result = step(tf.constant([-1.0, -2.0]))
""",
    ),
    cure="Compute both results and choose with `tf.where`, or assign a tensor of one shape on both sides.",
    check=check,
)
