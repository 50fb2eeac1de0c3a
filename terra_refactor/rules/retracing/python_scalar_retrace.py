"""TR201: Python numbers or strings that vary from call to call of a traced function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import FunctionFacts
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import NONE, Constant, PythonType, Scalar, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import operands, walk
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView, is_tensorflow_tensor

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
        for position, argument in enumerate(call.arguments):
            if _changes(view, argument.value, changing) and _varies(view.value(argument.value)):
                yield LocalHazard(
                    call.id,
                    f"`{view.written(argument.value)}` is a Python value that changes from call to call: "
                    f"`{view.written(call.function)}` is traced for each value",
                    cure=_cure(view, call, position, callees),
                )
                break


_CONVERTS: Final = frozenset({"tensorflow.cast", "tensorflow.range", "tensorflow.convert_to_tensor"})


def _cure(view: ContextView, call: ops.Call, position: int, callees: tuple[FunctionFacts, ...]) -> CureHint | None:
    """A tensor in its place means the same if the callees use it as one wherever they use it."""
    if any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return None
    dtypes = {_dtype_of(member) for member in members(view.value(call.arguments[position].value))}
    if len(dtypes) != 1 or None in dtypes:
        return None
    dtype = dtypes.pop()
    for callee in callees:
        code = view.program.function(callee.function)
        names = [parameter.name for parameter in code.parameters]
        bound = code.kind is FunctionKind.METHOD and isinstance(view.op(call.function), ops.LoadAttribute)
        keyword = call.arguments[position].keyword
        place = names.index(keyword) if keyword in names else position + int(bound)
        if place >= len(names):
            return None
        for number in callee.contexts:
            inner = ContextView(view.codes, view.facts, view.facts.contexts[number])
            if not _is_used_as_tensor(inner, names[place], dtype):
                return None
    return CureHint(CureKind.TENSOR_ARGUMENT, (("argument", str(position)),))


def _dtype_of(value: Value) -> str | None:
    """The dtype that `tf.constant` gives a Python number."""
    kind = python_type(value)
    return {PythonType.INT: "int32", PythonType.FLOAT: "float32"}.get(kind) if kind is not None else None


def _is_used_as_tensor(view: ContextView, name: str, dtype: str | None) -> bool:
    """Whether every use of a parameter is a conversion, or an operator with a tensor of that dtype."""
    if any(isinstance(op, ops.StoreName) and op.name == name for op in view.code.ops):
        return False
    reads = {op.id for op in view.code.ops if isinstance(op, ops.LoadName) and op.name == name}
    for op in view.code.ops:
        if op is None or reads.isdisjoint(operands(op)):
            continue
        match op:
            case ops.Call() if op.id in view.calls and set(view.calls[op.id].library) <= _CONVERTS:
                continue
            case ops.Binary(operator="+" | "-" | "*" | "/" | "**", left=left, right=right):
                others = [number for number in (left, right) if number not in reads]
                if others and all(_is_tensor_of(view.value(number), dtype) for number in others):
                    continue
        return False
    return True


def _is_tensor_of(value: Value, dtype: str | None) -> bool:
    return all(
        isinstance(member, TensorValue) and is_tensorflow_tensor(member) and member.type.dtype == dtype
        for member in members(value)
    )


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
    summary="A traced function is retraced for every new value of a Python number or string that it gets.",
    explanation=(
        "Python values are part of the signature of a graph: six calls with six ints make six graphs. Tensors, NumPy "
        "scalars, and Python numbers under an `input_signature` do not cause retracing. TensorFlow warns from the fifth "
        "trace on: `... passing Python objects instead of tensors`."
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
