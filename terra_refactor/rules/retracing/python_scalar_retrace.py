"""TR201: Python numbers or strings that vary between calls of a traced function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import FunctionFacts
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import NONE, Constant, PythonType, Scalar, TensorValue, Value, members
from terra_refactor.facts.records import Call, Operation
from terra_refactor.facts.view import ContextView, is_tensorflow_tensor
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Retraces, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

MIN_VALUES: Final = 3
"""With fewer distinct values (a flag, a mode), a graph for each is intended."""
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "**"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    for number in view.calls:
        call = view.made(number)
        callees = view.traced_callees(number)
        loop = view.innermost_loop(number)
        if not isinstance(call, Call) or not callees or loop is None:
            continue
        if any(dict(callee.hybrid or ()).get("input_signature", NONE) != NONE for callee in callees):
            # a signature converts them to tensors
            continue
        for position, argument in enumerate(call.arguments):
            if view.changes_in(loop, argument.value) and _varies(view.value(argument.value)):
                yield LocalHazard(
                    call.op,
                    f"`{view.written(argument.value)}` is a Python value that changes from call to call: "
                    f"`{view.written(call.function)}` is traced for each value",
                    cure=_cure(view, call, position, callees),
                )
                break


def _cure(view: ContextView, call: Call, position: int, callees: tuple[FunctionFacts, ...]) -> CureHint | None:
    """A tensor in its place is equivalent if the callees use it only as one."""
    given = call.arguments[position].value
    dtypes = {_dtype_of(member) for member in members(view.value(given))}
    if not call.is_plain or len(dtypes) != 1 or None in dtypes:
        return None
    dtype = dtypes.pop()
    for callee in callees:
        code = view.program.function(callee.function)
        name = next((each.name for each in code.parameters if view.given_for(call, code, each.name) == given), None)
        if name is None or not all(_is_used_as_tensor(view.of(number), name, dtype) for number in callee.contexts):
            return None
    return CureHint(CureKind.TENSOR_ARGUMENT, (("argument", str(position)),))


def _dtype_of(value: Value) -> str | None:
    """The dtype that `tf.constant` gives a Python number."""
    kind = python_type(value)
    return {PythonType.INT: "int32", PythonType.FLOAT: "float32"}.get(kind) if kind is not None else None


def _is_used_as_tensor(view: ContextView, name: str, dtype: str | None) -> bool:
    """Whether every use of a parameter is a conversion, or an operator with a tensor of that dtype."""
    if view.code.writes.get(name):
        return False
    reads = {read.op for read in view.code.reads_of(name)}

    def is_tensor(number: OpId) -> bool:
        return all(
            isinstance(member, TensorValue) and is_tensorflow_tensor(member) and member.type.dtype == dtype
            for member in members(view.value(number))
        )

    for use in {use for read in reads for use in view.code.readers(read)}:
        match view.made(use):
            case Call() if use in view.calls:
                if not all(has_trait(name, Trait.CONVERTS_NUMBERS) for name in view.library_of(use)):
                    return False
            case Operation(symbol=symbol, right=int(), sides=sides) if symbol in _ARITHMETIC:
                others = [number for number in sides if number not in reads]
                if not others or not all(map(is_tensor, others)):
                    return False
            case _:
                return False
    return True


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
    retraces=Retraces(("value", "structure"), "a graph is made for each value"),
)
