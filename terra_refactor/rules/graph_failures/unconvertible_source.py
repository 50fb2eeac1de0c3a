"""TR305: code that AutoGraph cannot convert, because of its kind or because its source is ambiguous."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.facts.records import Region, RegionKind, Suspension
from terra_refactor.facts.staging import staging_of
from terra_refactor.facts.unconverted import unconverted_construct
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    function = view.function
    if function.is_async or function.is_generator:
        what = "a coroutine" if function.is_async else "a generator"
        place = next((each.op for each in view.code.of_kind(Suspension)), view.code.first())
        if place is not None:
            yield LocalHazard(place, f"it is {what}, which a traced function cannot return", boundary=True)
        reason = f"AutoGraph does not convert {what}"
    elif function.kind is FunctionKind.LAMBDA and _has_double(view):
        reason = "AutoGraph cannot distinguish two lambdas with the same parameters on one line"
    elif (construct := unconverted_construct(view)) is not None:
        reason = f"AutoGraph leaves a function with {construct} as it is"
    else:
        return
    for region in view.code.of_kind(Region):
        if view.kind_of(region) is BranchKind.TENSOR and region.kind is not RegionKind.COMPREHENSION:
            yield LocalHazard(region.op, f"this tests the value of a tensor, and {reason}: in a graph it raises")
        elif view.kind_of(region) is BranchKind.DATASET and region.kind is RegionKind.FOR:
            leaves = function.is_generator or any(
                site.op == region.op and site.is_loop and site.flags for site in staging_of(view).flow.sites
            )
            yield LocalHazard(
                region.op,
                f"this loops over a dataset, and {reason}: its trace does not end with the dataset",
                "the loop is left before the dataset ends" if leaves else None,
            )


def _has_double(view: ContextView) -> bool:
    """Whether another lambda with the same parameters is on the same line."""
    own = view.function
    parameters = [(parameter.name, parameter.kind) for parameter in own.parameters]
    return any(
        other.id != own.id
        and other.kind is FunctionKind.LAMBDA
        and other.def_line == own.def_line
        and [(parameter.name, parameter.kind) for parameter in other.parameters] == parameters
        for other in view.program.modules[own.id.module].functions
    )


RULE: Final = Rule(
    id="TR305",
    name="unconvertible-source",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="Generators, coroutines, and lambdas that AutoGraph cannot distinguish are not converted.",
    explanation=(
        "`if` and `while` on tensors work in a graph only where AutoGraph has rewritten the source. For a generator or `async "
        "def`, AutoGraph warns `AutoGraph could not transform ... Cause: generators are not supported` and runs the code as it "
        "is; for two lambdas on one line it warns `found multiple definitions with identical signatures at the location`. Then "
        "a condition on a tensor raises `OperatorNotAllowedInGraphError: Using a symbolic tf.Tensor as a Python bool is not "
        "allowed`. A generator as the traced function itself raises `TypeError: To be compatible with tf.function, Python "
        "functions must return zero or more Tensors`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def positive(parts):
    for part in parts:
        if tf.reduce_sum(part) > 0.0:  # TR305
            yield part


@tf.function
def step(x):
    return tf.add_n(list(positive([x, x * 2.0])))


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.zeros([3])
    for part in (x, x * 2.0):
        if tf.reduce_sum(part) > 0.0:
            total += part
    return total


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


def scaled(x):
    for scale in (1.0, 2.0):
        if scale > 1.0:
            yield x * scale


@tf.function
def step(x):
    return tf.add_n(list(scaled(x)))


result = step(tf.ones([3]))
""",
    ),
    cure="Write a plain function, and a lambda on a line of its own.",
    check=check,
)
