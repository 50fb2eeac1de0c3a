"""TR307: a variable of a loop on tensors that comes out of an iteration with another shape or dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import NONE, UNBOUND, TensorKind, TensorValue, TupleValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.walk import walk
from terra_refactor.rules.graph_failures.branch_mismatch import graph_dtype
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.tensor_choices import is_live, no_choice
from terra_refactor.rules.view import ContextView

_LOOP_OPTIONS: Final = "tensorflow.autograph.experimental.set_loop_options"


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _objects(view)
    for branch in view.branches.values():
        loop = view.op(branch.op)
        if not isinstance(loop, ops.For | ops.While) or branch.kind not in (BranchKind.TENSOR, BranchKind.DATASET):
            continue
        inside = {op.id for op in walk((loop,))}
        if any(call.id in inside for call, name in view.library_calls() if name == _LOOP_OPTIONS):
            continue
        carried = _carried(view, loop, inside)
        for name, joined, before in branch.changed:
            if name not in carried:
                continue
            if branch.kind is BranchKind.DATASET and _starts_without_value(before) and is_live(view, loop, name):
                yield LocalHazard(
                    loop.id,
                    f"`{name}` has no value before the loop over a dataset, and is used behind it or in its next iteration: in a graph "
                    "it must have one",
                )
                continue
            stored = _stored_last(view, loop, name) or joined
            certain = _difference(before, joined) or _difference(before, stored)
            if certain is not None:
                yield LocalHazard(loop.id, f"`{name}` {certain} after an iteration: a loop in a graph keeps both")
            elif _may_grow(before, stored):
                yield LocalHazard(
                    loop.id,
                    f"`{name}` may come out of an iteration with another shape: a loop in a graph keeps shapes",
                    f"`{name}` keeps its shape in the loop",
                )


def _objects(view: ContextView) -> Iterator[LocalHazard]:
    """Objects and functions that an iteration gives to the next one, or to what comes behind the loop."""
    for branch in view.branches.values():
        loop = view.op(branch.op)
        if not isinstance(loop, ops.For | ops.While) or branch.kind not in (BranchKind.TENSOR, BranchKind.DATASET):
            continue
        stored = {op.name: op.value for op in walk(loop.body) if isinstance(op, ops.StoreName) and op.value is not None}
        for name, value in stored.items():
            reason = no_choice(view, view.value(value))
            if reason is not None and is_live(view, loop, name):
                yield LocalHazard(
                    loop.id,
                    f"`{name}` is {reason}, which an iteration cannot hand on: a loop in a graph has tensors for variables",
                )


def _starts_without_value(before: Value) -> bool:
    """Whether a variable is unbound or None before a loop: loops on tensors find a stand-in for it, loops on datasets do not."""
    return bool(members(before)) and all(member in (NONE, UNBOUND) for member in members(before))


def _stored_last(view: ContextView, loop: ops.For | ops.While, name: str) -> Value | None:
    """What every iteration stores in a variable; None if it does so only sometimes, or nested more deeply."""
    stores = [op for op in loop.body if isinstance(op, ops.StoreName) and op.name == name and op.value is not None]
    if not stores or stores[-1].value is None:
        return None
    return view.value(stores[-1].value)


def _carried(view: ContextView, loop: ops.For | ops.While, inside: set[int]) -> set[str]:
    """The names whose value goes from one iteration to the next or out of the loop."""
    last = max(inside)
    outer_loop = any(isinstance(outer, ops.For | ops.While) for outer in view.enclosing(loop.id))
    stored: set[str] = set()
    carried: set[str] = set()
    for op in view.code.ops:
        if op is None:
            continue
        if op.id in inside:
            if isinstance(op, ops.LoadName) and op.name not in stored:
                carried.add(op.name)
            elif isinstance(op, ops.StoreName):
                stored.add(op.name)
        elif isinstance(op, ops.LoadName) and (op.id > last or outer_loop):
            carried.add(op.name)
    return carried


def _difference(before: Value, after: Value) -> str | None:
    """How the value certainly changes its type in a graph."""
    befores, afters = members(before), members(after)
    if len(befores) != 1 or len(afters) != 1:
        return None
    one, other = befores[0], afters[0]
    if isinstance(one, TupleValue) and isinstance(other, TupleValue):
        return "has another length" if len(one.elements) != len(other.elements) else None
    first, second = graph_dtype(one), graph_dtype(other)
    if first is not None and second is not None and first != second:
        return f"is {second} instead of {first}"
    start, end = _shape(one), _shape(other)
    if start is not None and end is not None:
        if len(start) != len(end):
            return f"has rank {len(end)} instead of {len(start)}"
        for a, b in zip(start, end, strict=True):
            if isinstance(a, int) and isinstance(b, int) and a != b:
                return f"has size {b} instead of {a} along an axis"
    return None


def _may_grow(before: Value, after: Value) -> bool:
    befores, afters = members(before), members(after)
    if len(befores) != 1 or len(afters) != 1:
        return False
    one, other = _shape(befores[0]), _shape(afters[0])
    if one is None or other is None:
        return False
    return any(isinstance(a, int) and not isinstance(b, int) for a, b in zip(one, other, strict=True))


def _shape(value: Value) -> Shape:
    if isinstance(value, TensorValue) and value.kind is TensorKind.TENSOR:
        return value.type.shape
    return None


RULE: Final = Rule(
    id="TR307",
    name="loop-variant-shape",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A variable of a loop on tensors that grows, or changes its rank or dtype, from one iteration to the next raises in a graph.",
    explanation=(
        "AutoGraph makes a `tf.while_loop` of the loop, whose variables keep shape and dtype: `ValueError: 'y' has shape (1,) before the "
        "loop, but shape (4,) after one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants`, or `TypeError: "
        "Input 'y' of 'AddV2' Op has type float32 that does not match type int32` where a sum starts as the Python number 0. A variable "
        "that starts as None, or that the loop sets first, is fine in a loop over a tensor; where it goes over a dataset: `ValueError: 'y' "
        "must be defined before the loop`. Objects cannot go from one iteration to the next; their attributes can."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.constant(0.0)
    for _ in x:  # TR307
        total = total + x
    return total


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.zeros([3])
    for _ in x:
        total = total + x
    return total


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    total = tf.constant(0.0)
    for _ in range(3):
        total = total + x
    return total


result = step(tf.ones([3]))
""",
    ),
    cure="Start with a value of the final type, use a `tf.TensorArray`, or declare `shape_invariants`.",
    check=check,
)
