"""TR201: Python numbers or strings that vary from call to call of a traced function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import NONE, Constant, Scalar, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

MIN_VALUES: Final = 3
"""Fewer distinct values (a flag, a mode) are meant to have a graph each."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    for number in view.calls:
        call = view.op(number)
        callees = view.traced_callees(number)
        loop = view.innermost_loop(number)
        if not isinstance(call, ops.Call) or not callees or loop is None:
            continue
        if any(dict(callee.hybrid or ()).get("input_signature", NONE) != NONE for callee in callees):
            # a signature makes tensors of them
            continue
        changing = {op.name for op in walk((loop,)) if isinstance(op, ops.StoreName)}
        for argument in call.arguments:
            if _changes(view, argument.value, changing) and _varies(view.value(argument.value)):
                yield LocalHazard(
                    call.id,
                    f"`{view.written(argument.value)}` is a Python value that changes from call to call: "
                    f"`{view.written(call.function)}` is traced for each value",
                )
                break


def _changes(view: ContextView, number: OpId, changing: set[str]) -> bool:
    """Whether an expression reads a variable that the loop sets."""
    match view.op(number):
        case ops.LoadName(name=name):
            return name in changing
        case ops.Binary(left=left, right=right):
            return _changes(view, left, changing) or _changes(view, right, changing)
        case ops.FormatString(parts=parts):
            return any(not isinstance(part, str) and _changes(view, part.value, changing) for part in parts)
        case _:
            return False


def _varies(value: Value) -> bool:
    alternatives = members(value)
    if not alternatives or not all(_is_scalar(member) for member in alternatives):
        return False
    return len(alternatives) >= MIN_VALUES or any(isinstance(member, Scalar) for member in alternatives)


def _is_scalar(value: Value) -> bool:
    if isinstance(value, Scalar):
        return value.type.value in ("int", "float", "str")
    return (
        isinstance(value, Constant) and isinstance(value.value, int | float | str) and not isinstance(value.value, bool)
    )


RULE: Final = Rule(
    id="TR201",
    name="python-scalar-retrace",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A traced function that gets Python numbers or strings that change is traced for every value.",
    explanation=(
        "Python values are a part of what a graph is made for: six calls with six ints make six graphs. Tensors, NumPy scalars, and "
        "Python numbers under an `input_signature` do not. TensorFlow warns from the fifth time on: "
        "`... passing Python objects instead of tensors`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x, scale):
    return x * tf.cast(scale, tf.float32)


for number in range(4):
    result = step(tf.ones([3]), number)  # TR201
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x, scale):
    return x * tf.cast(scale, tf.float32)


for number in range(4):
    result = step(tf.ones([3]), tf.constant(number))
""",
        near_miss="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(x, scale):
    return x * tf.cast(scale, tf.float32)


for number in range(4):
    result = step(tf.ones([3]), np.int64(number))
""",
    ),
    cure="Pass `tf.constant(value)`.",
    check=check,
)
