"""TR326: a lambda that is made in a loop, kept, and sees another value of the loop's variable in a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_KEEPING: Final = frozenset(
    (
        *(f"builtins.list.{name}" for name in ("append", "insert", "extend")),
        "builtins.set.add",
        "builtins.dict.setdefault",
        "collections.deque.append",
    )
)


def check(view: ContextView) -> Iterator[LocalHazard]:
    for loop in view.code.of_kind(ops.For):
        inner = list(walk(loop.body))
        own = {op.name for op in inner if isinstance(op, ops.StoreName)}
        for made in inner:
            # of a `def`, AutoGraph knows which variables it reads, and keeps them for the whole loop
            if (
                not isinstance(made, ops.MakeFunction)
                or view.program.function(made.function).kind is not FunctionKind.LAMBDA
            ):
                continue
            late = next((name for name in _captured(view, made) if name in own), None)
            if late is not None and _is_kept(view, made.id):
                yield LocalHazard(
                    made.id,
                    f"a lambda that is kept reads `{late}`, which the loop sets: called later it sees the last value eagerly, "
                    "and in a graph that of its own round",
                )


def _captured(view: ContextView, made: ops.MakeFunction) -> Iterator[str]:
    """The variables of enclosing functions that a lambda reads."""
    for op in view.codes.of(made.function).of_kind(ops.LoadName):
        if op.scope is ops.Scope.FREE:
            yield op.name


def _is_kept(view: ContextView, number: OpId) -> bool:
    """Whether the lambda goes into a container or an attribute."""
    numbers = {number}
    for op in view.code.of_kind(ops.StoreName):
        if op.value == number:
            numbers.update(load.id for load in view.code.of_kind(ops.LoadName) if load.name == op.name)
    if any(op.value in numbers for op in view.code.ops if isinstance(op, ops.StoreItem | ops.StoreAttribute)):
        return True
    return any(
        name in _KEEPING and any(argument.value in numbers for argument in call.arguments)
        for call, name in view.library_calls()
    )


RULE: Final = Rule(
    id="TR326",
    name="late-bound-variable",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A lambda that is made in a `for` loop and kept sees the loop's last value eagerly, and that of its own round in a graph.",
    explanation=(
        "Python looks a captured variable up when the function is called. AutoGraph makes a function of the loop's body, so that each "
        "round has variables of its own, and `[f(x) for f in kept]` computes something else. Comprehensions are left as they are, and "
        "of a `def` it keeps the variables for the whole loop."
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
)
