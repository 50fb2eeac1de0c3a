"""TR304: a tensor where Python wants True or False."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.ir import ops
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_COMPARING: Final = frozenset(f"builtins.{name}" for name in ("all", "any", "max", "min", "sorted"))
"""Functions that ask for the truth of the elements of a list, or of comparisons of them."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for op in view.reached(ops.If):
        fact = view.branches.get(op.id)
        if op.is_assert and fact is not None and fact.kind is BranchKind.TENSOR:
            yield LocalHazard(op.id, "`assert` on a tensor: in a graph this raises")
    for compare in view.reached(ops.Compare):
        if compare.operator in ("in", "not in") and (view.is_symbolic(compare.left) or view.is_symbolic(compare.right)):
            yield LocalHazard(
                compare.id, f"`{compare.operator}` compares a tensor as a Python bool: in a graph this raises"
            )
    for call, name in view.library_calls():
        if name in _COMPARING and len(call.arguments) == 1:
            given = view.op(call.arguments[0].value)
            if isinstance(given, ops.BuildContainer) and view.holds_symbolic(given.id):
                yield LocalHazard(
                    call.id, f"`{view.written(call.id)}` compares tensors as Python bools: in a graph this raises"
                )
        if name == "builtins.bool" and call.arguments and view.is_symbolic(call.arguments[0].value):
            yield LocalHazard(call.id, "`bool(...)` of a tensor: in a graph this raises")


RULE: Final = Rule(
    id="TR304",
    name="tensor-as-bool",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`assert tensor`, `tensor in ...`, `bool(tensor)`, and conditions on tensors in code that is not converted, raise in a graph.",
    explanation=(
        "`OperatorNotAllowedInGraphError: Using a symbolic tf.Tensor as a Python bool is not allowed`. AutoGraph converts `if`, "
        "`while`, `for`, `and`, `or`, `not` and conditional expressions on tensors; it does not convert `assert` and `in`. And it "
        "converts only what is called by a call that it sees: not properties, operators, `__getitem__`, `__enter__`, constructors, "
        "functions given to `map`, `filter`, `sorted` or `functools.reduce`, what Keras 3 calls (`call` through `layer(x)`, "
        "`train_step`, losses), what is under `do_not_convert` or `autograph=False`, and what all these call."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    assert tf.reduce_all(x > 0.0)  # TR304
    return x


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    tf.debugging.assert_positive(x)
    return x


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    assert x.shape[0] == 3
    if tf.reduce_all(x > 0.0) and not tf.reduce_any(x > 5.0):
        return x * 2.0
    return x


step(tf.ones([3]))
""",
    ),
    cure="Use `tf.debugging.assert_*`, `tf.reduce_any(tf.equal(...))`, or a condition that AutoGraph converts.",
    check=check,
)
