"""TR315: exceptions that depend on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import LibraryValue, TupleValue, members
from terra_refactor.facts.records import Arm, Raise, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import catches_everything, is_error_of_operation


def check(view: ContextView) -> Iterator[LocalHazard]:
    for raised in view.code.of_kind(Raise):
        holder = next((outer for outer in view.enclosing(raised.op) if outer.kind is RegionKind.IF), None)
        if view.under_tensor_condition(raised.op) and not (holder is not None and holder.is_assert):
            yield LocalHazard(
                raised.op, "`raise` under a condition on a tensor: it is executed whenever the function is traced"
            )
    for attempt in view.code.of_kind(Region):
        if attempt.kind is RegionKind.TRY:
            body = next((part for part in attempt.parts if part.arm is Arm.FIRST), None)
            if body is not None and any(map(view.is_symbolic, range(body.start, body.end))):
                yield from _check_handlers(view, attempt)


def _check_handlers(view: ContextView, attempt: Region) -> Iterator[LocalHazard]:
    for handler in attempt.handlers:
        if handler.raises:
            # the error goes on, in another form
            continue
        caught = () if handler.caught is None else members(view.value(handler.caught))
        classes = [part for cls in caught for part in (cls.elements if isinstance(cls, TupleValue) else (cls,))]
        names = [cls.name for cls in classes if isinstance(cls, LibraryValue)]
        if any(map(is_error_of_operation, names)):
            yield LocalHazard(
                attempt.op,
                "`except` for an error of an operation: in a graph the operation runs later, and the handler never",
            )
        elif handler.caught is None or any(map(catches_everything, names)):
            yield LocalHazard(
                attempt.op,
                "`except` catches errors of operations: in a graph they run later, and the handler never sees them",
                "no operation in the `try` fails when it runs",
            )


RULE: Final = Rule(
    id="TR315",
    name="exception-as-control-flow",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A `raise` under a condition on a tensor happens at every trace; an error of an operation is never caught inside a graph.",
    explanation=(
        "Both sides of a branch on a tensor are traced, so the `raise` is executed while the graph is built, even if the "
        "condition would be false. A failing operation raises when the graph runs, long after Python has left the `try`: the "
        "handler never runs and the error reaches the caller. Errors found while the graph is built (shapes, dtypes) are caught "
        "as usual. A handler that raises an exception itself is not reported: the caller gets an error either way."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    if tf.reduce_any(x < 0.0):
        raise ValueError("negative")  # TR315
    return tf.sqrt(x)


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    tf.debugging.assert_non_negative(x)
    return tf.sqrt(x)


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    if x.shape[0] != 3:
        raise ValueError("three expected")
    return tf.sqrt(x)


step(tf.ones([3]))
""",
    ),
    cure="Use `tf.debugging.assert_*`, which is part of the graph.",
    check=check,
    cured_by_shim=True,
    silent=True,
)
