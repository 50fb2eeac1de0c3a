"""TR504: a long Python loop inside a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant, RangeValue, Value
from terra_refactor.facts.records import Arm, Call, ItemRead, Operation, Region, RegionKind
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity

_MANY: Final = 100
"""Minimum number of iterations that is reported."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    if not view.context.in_graph:
        return
    for loop in view.code.of_kind(Region):
        if loop.kind is not RegionKind.FOR or loop.iterated is None:
            continue
        count = length_of_range(view.value(loop.iterated))
        if count is None or count < _MANY:
            continue
        computing: tuple[Call | ItemRead | Operation, ...] = (
            *view.code.of_kind(Call),
            *view.code.of_kind(ItemRead),
            *view.code.of_kind(Operation),
        )
        operations = sum(
            loop.holds(fact.op, Arm.FIRST)
            and is_tensorflow_tensor(view.value(fact.op))
            and not (isinstance(fact, Operation) and not fact.is_arithmetic)
            for fact in computing
        )
        if operations:
            yield LocalHazard(
                loop.op,
                f"the loop is unrolled while the graph is traced: {count} times about {operations} operations; `tf.range` would keep one "
                "copy of its body",
            )


def length_of_range(value: Value) -> int | None:
    """The length of a `range` with known bounds."""
    match value:
        case RangeValue(Constant(int() as start), Constant(int() as stop), Constant(int() as step)) if step:
            return len(range(start, stop, step))
        case _:
            return None


RULE: Final = Rule(
    id="TR504",
    name="large-unrolled-loop",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.INFORMATION,
    summary="A Python `range` loop inside a graph is unrolled: the graph has a copy of the body for each iteration.",
    explanation=(
        "AutoGraph converts loops over tensors only. A thousand iterations of a `range` make thousands of operations: tracing takes "
        "long and needs much memory. The unrolled graph can be the faster one at run time, so this finding is informational."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def diffuse(x):
    for _ in range(200):  # TR504
        x = x + 0.1 * tf.sin(x)
    return x


result = diffuse(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def diffuse(x):
    for _ in tf.range(200):
        x = x + 0.1 * tf.sin(x)
    return x


result = diffuse(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def diffuse(x):
    names = []
    for number in range(200):
        names.append(f"x{number}")
    return x + float(len(names))


result = diffuse(tf.ones([3]))
""",
    ),
    cure="Loop over `tf.range(n)` if tracing takes too long.",
    check=check,
)
