"""TR304: a tensor where Python wants True or False."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.domain.dtype import BOOL
from terra_refactor.domain.value import PythonType, Scalar, TensorValue, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_COMPARING: Final = frozenset(f"builtins.{name}" for name in ("all", "any", "max", "min", "sorted"))
"""Functions that ask for the truth of the elements of a list, or of comparisons of them."""


_ASKING_CALLBACKS: Final = frozenset({"builtins.filter", "builtins.list.sort", "heapq.nlargest", "heapq.nsmallest"})
"""What asks for the truth of what a function gives, or of comparisons."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    yield from _numbers_that_decide(view)
    for op in view.reached(ops.If):
        if view.is_symbolic(op.test) and any(isinstance(outer, ops.Comprehension) for outer in view.enclosing(op.id)):
            yield LocalHazard(
                op.id, "the `if` of a comprehension asks for the truth of a tensor: in a graph this raises"
            )
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
            given = view.op(view.behind_name(call.arguments[0].value))
            if isinstance(given, ops.BuildContainer) and view.holds_symbolic(given.id):
                yield LocalHazard(
                    call.id, f"`{view.written(call.id)}` compares tensors as Python bools: in a graph this raises"
                )
        if name in ("builtins.max", "builtins.min") and len(call.arguments) > 1:
            plain = [argument for argument in call.arguments if argument.keyword is None]
            if len(plain) > 1 and any(view.is_symbolic(argument.value) for argument in plain):
                yield LocalHazard(
                    call.id, f"`{view.written(call.id)}` compares tensors as Python bools: in a graph this raises"
                )
        if name in _COMPARING or name in _ASKING_CALLBACKS:
            yield from _asked_of_elements(view, call)
        if name == "builtins.bool" and call.arguments and view.is_symbolic(call.arguments[0].value):
            yield LocalHazard(call.id, "`bool(...)` of a tensor: in a graph this raises")


def _asked_of_elements(view: ContextView, call: ops.Call) -> Iterator[LocalHazard]:
    """`any(... for ...)` and the like over tensors; `sorted(..., key=f)`, `filter(f, ...)` where the function gives tensors."""
    first = view.op(view.behind_name(call.arguments[0].value)) if call.arguments else None
    if isinstance(first, ops.Comprehension):
        collected = (op for op in walk(first.body) if isinstance(op, ops.CollectElement))
        if any(_is_compared(view, op.value) for op in collected):
            yield LocalHazard(
                call.id,
                f"`{view.written(call.id)}` asks for the truth of tensors, or of comparisons: in a graph this raises",
            )
    fact = view.calls.get(call.id)
    branch = view.branches.get(call.id)
    if branch is not None and branch.kind is BranchKind.TENSOR:
        yield LocalHazard(
            call.id, f"`{view.written(call.id)}` compares tensors as Python bools: in a graph this raises"
        )
        return
    for callee in () if fact is None else fact.callees:
        inner = view.of(callee)
        if any(op.value is not None and inner.is_symbolic(op.value) for op in inner.returns()):
            yield LocalHazard(
                call.id,
                f"`{view.written(call.id)}` asks for the truth of tensors, or of comparisons: in a graph this raises",
            )
            return


def _is_compared(view: ContextView, number: OpId) -> bool:
    """Whether it is a tensor, or a tuple of which a tensor is the first member: what comparisons look at first."""
    op = view.op(number)
    if isinstance(op, ops.BuildContainer) and op.kind is not ops.ContainerKind.SET and op.elements:
        return _is_compared(view, op.elements[0].value)
    return view.is_symbolic(number)


def _numbers_that_decide(view: ContextView) -> Iterator[LocalHazard]:
    """Conditions on tensors that are no bools: eagerly what is not zero is true, but a graph takes bools only."""
    for op in view.code.ops:
        match op:
            case ops.If(test=test, is_assert=False) | ops.IfExpression(test=test) | ops.While(test=test):
                asked = [test]
            case ops.ShortCircuit(left=left, value=right):
                asked = [left, *([right] if view.is_symbolic(left) else [])]
            case ops.Unary(operator="not", operand=operand):
                asked = [operand]
            case _:
                continue
        for number in asked:
            if _is_number(view, number):
                yield LocalHazard(
                    op.id,
                    f"`{view.written(number)}` is no bool, and decides: in a graph a condition must be a bool tensor",
                )
                break


def _is_number(view: ContextView, number: OpId) -> bool:
    """Whether it certainly is a tensor of numbers or strings."""
    if not view.is_symbolic(number):
        return False
    return all(
        (isinstance(member, Scalar) and member.type is not PythonType.BOOL)
        or (isinstance(member, TensorValue) and member.type.dtype not in (None, BOOL))
        for member in members(view.value(number))
    )


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
