"""TR315: exceptions that depend on a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.effect import EffectKind, RootKind
from terra_refactor.domain.value import DatasetValue, Value
from terra_refactor.facts.catching import catch_of, catches_of, caught_around, caught_by_callers, caught_by_name
from terra_refactor.facts.dead_results import pruned
from terra_refactor.facts.records import Arm, Call, Raise, Region, RegionKind
from terra_refactor.facts.staged_exceptions import exchanged, raised
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Nature, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import NEXT, STOP_ITERATION
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for statement in view.code.of_kind(Raise):
        holder = next((outer for outer in view.enclosing(statement.op) if outer.kind is RegionKind.IF), None)
        if view.under_tensor_condition(statement.op) and not (holder is not None and holder.is_assert):
            yield LocalHazard(
                statement.op, "`raise` under a condition on a tensor: it is executed whenever the function is traced"
            )
    for attempt in view.code.of_kind(Region):
        if attempt.kind in (RegionKind.TRY, RegionKind.WITH):
            body = next((part for part in attempt.parts if part.arm is Arm.FIRST), None)
            if body is not None and _works_on_tensors(view, range(body.start, body.end)):
                yield from _check_catches(view, attempt)
                yield from _translated(view, attempt)
    yield from _exchanged_classes(view)
    yield from _never_run(view)
    yield from _unordered(view)
    yield from _ends_of_data(view)


def _works_on_tensors(view: ContextView, body: range) -> bool:
    """Whether code has a symbolic value, or calls functions with tensor operations."""
    called = (callee for number, call in view.calls.items() if number in body for callee in call.callees)
    return any(map(view.is_symbolic, body)) or any(
        view.facts.leads_to(callee, Trait.TENSOR_OPERATION) for callee in called
    )


def _translated(view: ContextView, attempt: Region) -> Iterator[LocalHazard]:
    """Handlers that raise an exception of the program in place of an operation's error, if another handler expects that exception."""
    catches = [catch_of(view, handler) for handler in attempt.handlers if handler.raises]
    if not any(catch.is_for_operations or catch.catches_all for catch in catches):
        return
    handlers = [range(part.start, part.end) for part in attempt.parts if part.arm is Arm.HANDLER]
    for statement in view.code.of_kind(Raise):
        for each in raised(view, statement) if any(statement.op in handler for handler in handlers) else ():
            around = (catch for _, catch in caught_around(view, attempt.op))
            if any(map(each.is_ended_by, around)) or any(
                map(each.is_ended_by, caught_by_callers(view, through_graphs=True))
            ):
                yield LocalHazard(
                    attempt.op,
                    f"`except` raises `{each.name}` for an error of an operation, which another handler expects: in a graph the operation "
                    "runs later, and neither of them sees its error",
                )
                return


def _exchanged_classes(view: ContextView) -> Iterator[LocalHazard]:
    """Exceptions that are meant for a caller's handler, but leave a graph as another class."""
    for statement in view.code.of_kind(Raise):
        for each in exchanged(view, statement):
            if any(each.is_ended_by(catch) for _, catch in caught_around(view, statement.op)):
                continue
            if any(map(each.is_ended_by, caught_by_callers(view, through_graphs=True))):
                yield LocalHazard(
                    statement.op,
                    f"a caller catches `{each.name}`: AutoGraph raises `StagingError` in its place, which the handler does not catch",
                    nature=Nature.RAISED,
                )
                break
            if any(map(each.is_ended_by, caught_by_name(view))):
                yield LocalHazard(
                    statement.op,
                    f"AutoGraph raises `StagingError` in place of `{each.name}`: a handler of a caller does not catch it",
                    f"callers do not catch `{each.name}`",
                    nature=Nature.RAISED,
                )
                break


def _never_run(view: ContextView) -> Iterator[LocalHazard]:
    """Operations that check something by failing: a graph prunes them if their results are unused."""
    found = dict(pruned(view))
    is_caught = bool(found) and any(catch.is_for_operations for catch in caught_by_callers(view, through_graphs=True))
    for number, written in found.items():
        message = f"the result of `{written}` is not used: a graph leaves it out"
        if is_caught:
            yield LocalHazard(number, f"{message}, and a caller that catches its error never sees one")
        else:
            yield LocalHazard(number, f"{message}, and its error is not raised", f"`{written}` does not fail")


def _unordered(view: ContextView) -> Iterator[LocalHazard]:
    """Assertions before the change of a variable: a graph does not order the two, and changes it even if the assertion fails."""
    if not view.facts.leads_to(view.context.id, Trait.DROPPED_BY_XLA):
        return
    changes = {
        (effect.via[0] if effect.via else effect.site).op
        for effect in view.context.effects
        if effect.kind is EffectKind.TENSOR_STATE and effect.target.root is not RootKind.FRESH
    }
    for number in view.calls:
        later = min((change for change in changes if change > number), default=None)
        if later is None or not _asserts(view, number):
            continue
        unordered = f"a graph runs `{view.written(later)}` although it fails, since there is no order between the two"
        if any(catch.is_for_operations for catch in caught_by_callers(view, through_graphs=True)):
            yield LocalHazard(number, f"a caller catches the error of `{view.written(number)}`: {unordered}")
        elif any(catch.is_for_operations for catch in caught_by_name(view)):
            message = f"if callers catch the error of `{view.written(number)}`: {unordered}"
            yield LocalHazard(number, message, f"callers do not catch the error of `{view.written(number)}`")


def _asserts(view: ContextView, number: OpId) -> bool:
    """Whether a call asserts something about tensors, itself or in callees, and no operation depends on it."""
    fact, call = view.calls[number], view.made(number)
    if any(has_trait(name, Trait.DROPPED_BY_XLA) for name in fact.library):
        is_waited_for = bool(view.code.readers(number, results=True))
        return (
            not is_waited_for
            and isinstance(call, Call)
            and any(view.is_symbolic(argument.value) for argument in call.arguments)
        )
    inner = [callee for callee in fact.callees if view.facts.functions[view.facts.function_of(callee)].hybrid is None]
    return any(
        any(_asserts(view.of(context.id), call.op) for call in context.calls if call.library and not call.callees)
        for context in view.called_from(inner)
    )


def _check_catches(view: ContextView, attempt: Region) -> Iterator[LocalHazard]:
    for catch in catches_of(view, attempt):
        catcher = "`except`" if catch.is_handler else f"`{view.written(attempt.subject or attempt.op)}`"
        where = "the handler never" if catch.is_handler else "the `with` does not suppress the error"
        if STOP_ITERATION in catch.library and any(
            attempt.holds(number, Arm.FIRST) for number in _reads_to_the_end(view)
        ):
            yield LocalHazard(
                attempt.op,
                f"{catcher[:-1]} StopIteration` is for the end of a dataset: in a graph the iterator raises `OutOfRangeError` "
                "when the graph runs, and the handler never sees it"
                if catch.is_handler
                else f"{catcher} is for the end of a dataset: in a graph the iterator raises `OutOfRangeError` when the graph runs",
            )
        elif catch.is_for_operations:
            yield LocalHazard(
                attempt.op,
                f"{catcher} for an error of an operation: in a graph the operation runs later, and {where}",
            )
        elif catch.catches_all:
            yield LocalHazard(
                attempt.op,
                f"{catcher} catches errors of operations: in a graph they run later, and "
                + ("the handler never sees them" if catch.is_handler else "it never sees them"),
                f"no operation in the `{attempt.kind.value}` fails when it runs",
            )


def _ends_of_data(view: ContextView) -> Iterator[LocalHazard]:
    """Ends of datasets that code detects eagerly, by the default of `next` or a caller's handler."""
    for call, name in view.library_calls():
        if name == NEXT and len(call.positional) > 1 and _may_end(view, call):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` gives its default at the end of the dataset: in a graph the iterator raises "
                "`OutOfRangeError` when the graph runs",
            )
    # finding the callers takes longer than testing whether it calls `next` at all, which few functions do
    if not view.facts.leads_to(view.context.id, NEXT):
        return
    if any(STOP_ITERATION in catch.library for catch in caught_by_callers(view)):
        for number in _reads_to_the_end(view):
            yield LocalHazard(
                number,
                f"a caller catches the `StopIteration` of `{view.written(number)}`: a graph raises `OutOfRangeError` at the end of the "
                "dataset",
            )
    elif any(STOP_ITERATION in catch.library for catch in caught_by_name(view)):
        for number in _reads_to_the_end(view):
            yield LocalHazard(
                number,
                f"at the end of the dataset `{view.written(number)}` raises `OutOfRangeError` in a graph, and `StopIteration` eagerly",
                "callers do not catch `StopIteration`",
            )


def _reads_to_the_end(view: ContextView) -> Iterator[OpId]:
    """The calls that request the next element of a TensorFlow iterator, which may not exist, here or in callees."""
    for number, fact in view.calls.items():
        if any(
            name == NEXT and len(call.positional) == 1 and _may_end(inner, call)
            for inner in (view, *(view.of(context.id) for context in view.called_from(fact.callees)))
            for call, name in inner.library_calls()
            if inner is not view or call.op == number
        ):
            yield number


def _may_end(view: ContextView, call: Call) -> bool:
    """Whether all arguments of `next` are TensorFlow iterators, which may end."""
    return view.all_of(call.positional[0], _is_iterator)


def _is_iterator(value: Value) -> bool:
    return isinstance(value, DatasetValue) and value.iterator


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
        "as usual. A handler that raises an exception itself is not reported: the caller gets an error either way. "
        "`contextlib.suppress`, an `__exit__` that returns True and a `@contextmanager` with a handler are like handlers. "
        "An exception that leaves a traced function keeps its class only if AutoGraph can construct it: a class that derives from "
        "`ValueError` or has its own `__init__`, `IndexError` and some others become `StagingError`, which a caller's `except` does "
        "not catch. An operation without side effects whose result is not used (`tf.gather` or `tf.ensure_shape` "
        "as a check) is left out of the graph, with its error. `tf.debugging.assert_*` and `tf.debugging.check_numerics` are kept, "
        "but a variable that is assigned after them is assigned even if they fail. "
        "At the end of a dataset `next(iterator)` raises `StopIteration` eagerly and `OutOfRangeError` when a graph runs: an "
        "`except StopIteration` in the function or its caller, and the default of `next(iterator, default)`, have no effect."
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
