"""TR326: a lambda created in a loop and stored, which sees another value of the loop variable in a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.facts.records import AttributeWrite, FunctionMade, ItemWrite, NameRead, NameWrite, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    for made in view.code.of_kind(FunctionMade):
        # AutoGraph knows which variables a `def` reads, and keeps them as loop variables
        if view.program.function(made.function).kind is not FunctionKind.LAMBDA:
            continue
        loops = [loop for loop in view.code.loops_around(made.op) if loop.kind is RegionKind.FOR]
        captured = [read.name for read in view.codes.of(made.function).of_kind(NameRead) if read.is_captured]
        late = next((name for name in captured if any(view.code.set_in(loop, name) for loop in loops)), None)
        if late is not None and _is_kept(view, made.op):
            yield LocalHazard(
                made.op,
                f"a lambda that is stored reads `{late}`, which the loop sets: called later it sees the last value eagerly, "
                "and the value of its own iteration in a graph",
            )


def _is_kept(view: ContextView, number: OpId) -> bool:
    """Whether the lambda is stored in a container or an attribute."""
    names = {write.name for write in view.code.of_kind(NameWrite) if write.value == number}
    numbers = {number, *(read.op for name in names for read in view.code.reads_of(name))}
    if any(write.value in numbers for write in (*view.code.of_kind(ItemWrite), *view.code.of_kind(AttributeWrite))):
        return True
    return any(
        argument.value in numbers for call, _ in view.calls_with(Trait.KEEPS_ARGUMENT) for argument in call.arguments
    )


RULE: Final = Rule(
    id="TR326",
    name="late-bound-variable",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A lambda that a `for` loop creates and stores sees the last value eagerly, and the value of its own iteration in a graph.",
    explanation=(
        "Python looks a captured variable up when the function is called. AutoGraph turns the loop body into a function, so "
        "each iteration has its own variables, and `[f(x) for f in kept]` computes something else. Comprehensions are not "
        "rewritten, and a `def` in the loop shares its variables across iterations as in Python."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    powers = []
    for i in range(3):
        powers.append(lambda v: v * float(i))  # TR326
    return tf.add_n([power(x) for power in powers])


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    powers = []
    for i in range(3):
        powers.append(lambda v, i=i: v * float(i))
    return tf.add_n([power(x) for power in powers])


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.zeros([3])
    for i in range(3):
        power = lambda v: v * float(i)
        total += power(x)
    return total


result = step(tf.ones([3]))
""",
    ),
    cure="Give the value as a default (`lambda v, i=i: ...`), or with `functools.partial`.",
    check=check,
    silent=True,
)
