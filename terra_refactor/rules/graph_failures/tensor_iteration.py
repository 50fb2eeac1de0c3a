"""TR303: Python iteration over a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import DatasetValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_ITERATING: Final = frozenset(
    f"builtins.{name}"
    for name in [
        "all",
        "any",
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "iter",
        "list",
        "map",
        "max",
        "min",
        "reversed",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    ]
)


_CONVERTED_FOR_DATASETS: Final = frozenset(
    f"builtins.{name}" for name in ["all", "any", "enumerate", "filter", "iter", "map", "zip"]
)
"""What AutoGraph has data sets' own functions for (`iter` gives TensorFlow's iterator)."""
_ENDLESS: Final = "in a graph this never ends, because only a run could tell where the data set does"


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _over_data_sets(view)
    for op, iterated, before, after in _iterations(view):
        is_tensor, parameter = view.becomes_tensor(iterated)
        if is_tensor:
            what = f"the {'tensor' if parameter is None else 'array'} `{view.written(iterated)}`"
            yield LocalHazard(op, f"{before}{what}{after}: in a graph this raises", parameter=parameter)


def _iterations(view: ContextView) -> Iterator[tuple[OpId, OpId, str, str]]:
    """Where Python itself iterates over something: the operation, what it iterates over, and what is said before and after that."""
    for branch in view.branches.values():
        op = view.op(branch.op)
        if isinstance(op, ops.Comprehension):
            yield op.id, op.iterable, "a comprehension iterates over ", ""
    for unpacked in view.reached(ops.UnpackElement):
        if unpacked.position == 0:
            yield unpacked.id, unpacked.source, "", " is unpacked"
    for display in view.reached(ops.BuildContainer):
        for element in display.elements:
            if element.starred:
                yield display.id, element.value, "", " is spread"
    for call, name in view.library_calls():
        several = sum(argument.keyword is None for argument in call.arguments) > 1
        if several and name in ("builtins.max", "builtins.min"):
            continue  # they are compared: see TR304
        if name in _ITERATING or name.startswith("itertools."):
            given = [argument.value for argument in call.arguments if argument.keyword is None]
            found = next((number for number in given if view.becomes_tensor(number)[0]), None)
            if found is not None:
                yield call.id, found, f"`{view.written(call.id)}` iterates over ", ""
    for call in view.reached(ops.Call):
        for argument in call.arguments:
            if argument.spread is ops.Spread.STAR:
                yield call.id, argument.value, "", f" is spread into the arguments of `{view.written(call.function)}`"


def _over_data_sets(view: ContextView) -> Iterator[LocalHazard]:
    for comprehension in view.reached(ops.Comprehension):
        if _is_data_set(view, comprehension.iterable):
            written = view.written(comprehension.iterable)
            yield LocalHazard(comprehension.id, f"a comprehension iterates over the data set `{written}`: {_ENDLESS}")
    for op in view.reached(ops.BuildContainer):
        for element in op.elements:
            if element.starred and _is_data_set(view, element.value):
                yield LocalHazard(op.id, f"the data set `{view.written(element.value)}` is spread: {_ENDLESS}")
    for unpacked in view.reached(ops.UnpackElement):
        if unpacked.position == 0 and _is_data_set(view, unpacked.source):
            yield LocalHazard(unpacked.id, f"the data set `{view.written(unpacked.source)}` is unpacked: {_ENDLESS}")
    for call, name in view.library_calls():
        if name in _ITERATING - _CONVERTED_FOR_DATASETS:
            if any(_is_data_set(view, argument.value) for argument in call.arguments if argument.keyword is None):
                yield LocalHazard(call.id, f"`{view.written(call.id)}` iterates over a data set: {_ENDLESS}")


def _is_data_set(view: ContextView, number: int) -> bool:
    alternatives = members(view.value(number))
    return bool(alternatives) and all(isinstance(member, DatasetValue) for member in alternatives)


RULE: Final = Rule(
    id="TR303",
    name="tensor-iteration",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A comprehension, `zip`, unpacking, `max`, `sum`, `list` or the like over a tensor raises in a graph.",
    explanation=(
        "Python's own iteration over a symbolic tensor raises `OperatorNotAllowedInGraphError: Iterating over a symbolic tf.Tensor is "
        "not allowed`; so it does over an array that is an argument, of which a traced function gets a tensor. "
        "AutoGraph converts only the plain `for` statement over a tensor (and `enumerate` of a dataset); "
        "`sorted(tensor)` gives one tensor instead of a list."
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
)
