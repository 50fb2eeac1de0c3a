"""TR315: exceptions that depend on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import DatasetValue, LibraryValue, TupleValue, Value, members
from terra_refactor.facts.records import Arm, Call, Handler, Raise, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import NEXT, STOP_ITERATION, catches_everything, is_error_of_operation


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
    yield from _ends_of_data(view)


def _check_handlers(view: ContextView, attempt: Region) -> Iterator[LocalHazard]:
    for handler in attempt.handlers:
        if handler.raises:
            # the error goes on, in another form
            continue
        names = _caught_by(view, handler)
        if STOP_ITERATION in names and any(attempt.holds(number, Arm.FIRST) for number in _reads_to_the_end(view)):
            yield LocalHazard(
                attempt.op,
                "`except StopIteration` is for the end of a data set: in a graph the iterator raises `OutOfRangeError` "
                "when the graph runs, and the handler never sees it",
            )
        elif any(map(is_error_of_operation, names)):
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


def _caught_by(view: ContextView, handler: Handler) -> list[str]:
    """The canonical names of the library's classes that a handler catches."""
    caught = () if handler.caught is None else members(view.value(handler.caught))
    classes = [part for cls in caught for part in (cls.elements if isinstance(cls, TupleValue) else (cls,))]
    return [cls.name for cls in classes if isinstance(cls, LibraryValue)]


def _ends_of_data(view: ContextView) -> Iterator[LocalHazard]:
    """Ends of data sets that the code learns of eagerly, by the default of `next` or a caller's handler."""
    for call, name in view.library_calls():
        if name == NEXT and len(call.positional) > 1 and _may_end(view, call):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` gives its default at the end of the data set: in a graph the iterator raises "
                "`OutOfRangeError` when the graph runs",
            )
    # a caller in a graph is reported itself
    eager = ((outer, call) for outer, call in view.calls_of_function() if not outer.context.in_graph)
    if any(_catches_stop(outer, call.op) for outer, call in eager if call is not None):
        for number in _reads_to_the_end(view):
            yield LocalHazard(
                number,
                f"a caller catches the `StopIteration` of `{view.written(number)}`: a graph raises `OutOfRangeError` at the end of the "
                "data set",
            )


def _reads_to_the_end(view: ContextView) -> Iterator[OpId]:
    """The calls that ask an iterator of TensorFlow, here or in what they call, for an element that may not be there."""
    for number, fact in view.calls.items():
        if any(
            name == NEXT and len(call.positional) == 1 and _may_end(inner, call)
            for inner in (view, *(view.of(context.id) for context in view.called_from(fact.callees)))
            for call, name in inner.library_calls()
            if inner is not view or call.op == number
        ):
            yield number


def _may_end(view: ContextView, call: Call) -> bool:
    """Whether all that `next` is given are iterators of TensorFlow: whether their data end is not known."""
    return view.all_of(call.positional[0], _is_iterator)


def _is_iterator(value: Value) -> bool:
    return isinstance(value, DatasetValue) and value.iterator


def _catches_stop(view: ContextView, number: OpId) -> bool:
    """Whether a `try` around a call has a handler for the end of an iterator."""
    return any(
        region.kind is RegionKind.TRY
        and region.holds(number, Arm.FIRST)
        and any(STOP_ITERATION in _caught_by(view, handler) for handler in region.handlers)
        for region in view.enclosing(number)
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
        "as usual. A handler that raises an exception itself is not reported: the caller gets an error either way. So it is with the end "
        "of a data set: `next(iterator)` raises `StopIteration` eagerly and `OutOfRangeError` when a graph runs, whether the function, its "
        "caller or the default of `next` is ready for the former."
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
