"""TR303: Python iteration over a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import DatasetValue
from terra_refactor.facts.records import Call, Display, Unpacked
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import RANGE, REDUCE, SORTED, is_of_python
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_ENDLESS: Final = "in a graph this never ends, because the end of the dataset is unknown while tracing"


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _over_data_sets(view)
    for call, name in view.library_calls():
        if name == SORTED and call.positional and _becomes_tensor(view, call.positional[0])[0]:
            written = view.written(call.op)
            yield LocalHazard(
                call.op,
                f"`{written}` is a list eagerly, and one tensor in a graph",
                f"a tensor may take the place of the list `{written}`",
            )
    for op, iterated, before, after in _iterations(view):
        is_tensor, parameter = _becomes_tensor(view, iterated)
        if is_tensor:
            what = f"the {'tensor' if parameter is None else 'array'} `{view.written(iterated)}`"
            yield LocalHazard(op, f"{before}{what}{after}: in a graph this raises", parameter=parameter)


def _becomes_tensor(view: ContextView, number: OpId) -> tuple[bool, str | None]:
    """Like `ContextView.becomes_tensor`, and also for tensors made before the call: a graph does not iterate over them either.

    AutoGraph also converts a `range` with a tensor bound to a tensor.
    """
    found = view.becomes_tensor(number)
    if view.gives_symbolic(number):
        return True, None
    call = None if found[0] else view.origin(number)
    if isinstance(call, Call) and view.library_of(call.op) == (RANGE,):
        bounds = (view.becomes_tensor(bound) for bound in call.positional)
        return next((bound for bound in bounds if bound[0]), found)
    return found


def _iterations(view: ContextView) -> Iterator[tuple[OpId, OpId, str, str]]:
    """Places where Python itself iterates over a value: the operation, the value, and the message before and after it."""
    for display in view.reached(Display):
        if display.iterable is not None:
            yield display.op, display.iterable, "a comprehension iterates over ", ""
        for item in display.items if display.is_sequence else ():
            if item.starred:
                yield display.op, item.value, "", " is spread"
    for unpacked in view.reached(Unpacked):
        if unpacked.position == 0:
            yield unpacked.op, unpacked.source, "", " is unpacked"
    for call, name in view.calls_with(Trait.ITERATES):
        if len(call.positional) > 1 and has_trait(name, Trait.COMPARES_ARGUMENTS):
            continue  # see TR304
        if name == SORTED:
            continue  # AutoGraph converts it
        # the third argument of `reduce` is the first value
        most = 1 if has_trait(name, Trait.ITERATES_FIRST) else 2 if name == REDUCE else None
        given = call.positional[:most]
        found = next((number for number in given if _becomes_tensor(view, number)[0]), None)
        if found is not None:
            yield call.op, found, f"`{view.written(call.op)}` iterates over ", ""
    for call in view.reached(Call):
        for argument in call.arguments:
            if argument.spread == "*":
                yield call.op, argument.value, "", f" is unpacked into the arguments of `{view.written(call.function)}`"


def _over_data_sets(view: ContextView) -> Iterator[LocalHazard]:
    for display in view.reached(Display):
        if display.iterable is not None and view.all_are(display.iterable, DatasetValue):
            written = view.written(display.iterable)
            yield LocalHazard(display.op, f"a comprehension iterates over the dataset `{written}`: {_ENDLESS}")
        for item in display.items if display.is_sequence else ():
            if item.starred and view.all_are(item.value, DatasetValue):
                yield LocalHazard(display.op, f"the dataset `{view.written(item.value)}` is unpacked: {_ENDLESS}")
    for unpacked in view.reached(Unpacked):
        if unpacked.position == 0 and view.all_are(unpacked.source, DatasetValue):
            yield LocalHazard(unpacked.op, f"the dataset `{view.written(unpacked.source)}` is unpacked: {_ENDLESS}")
    for call, name in view.calls_with(Trait.ITERATES):
        if is_of_python(name) and not has_trait(name, Trait.ITERATES_DATASETS):
            if any(view.all_are(number, DatasetValue) for number in call.positional):
                yield LocalHazard(call.op, f"`{view.written(call.op)}` iterates over a dataset: {_ENDLESS}")


RULE: Final = Rule(
    id="TR303",
    name="tensor-iteration",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A comprehension, `zip`, unpacking, `max`, `sum`, `list` or the like over a tensor raises in a graph.",
    explanation=(
        "Python's own iteration over a symbolic tensor raises `OperatorNotAllowedInGraphError: Iterating over a symbolic "
        "tf.Tensor is not allowed`. Array arguments are affected too: a traced function receives them as tensors. AutoGraph "
        "converts only the plain `for` statement over a tensor (and `enumerate` of a dataset); `sorted(tensor)` gives one "
        "tensor instead of a list."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.stack([row * 2.0 for row in x])  # TR303


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.map_fn(lambda row: row * 2.0, x)


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.constant(0.0)
    for row in x:
        total += row
    return total


step(tf.ones([3]))
""",
    ),
    cure="Work on the whole tensor, `tf.unstack` it, or use `tf.map_fn`.",
    check=check,
    cured_by_shim=True,
)
