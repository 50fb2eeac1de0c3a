"""TR203: a traced function that is created repeatedly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import FunctionValue, Value
from terra_refactor.facts.records import Call, NameWrite, Region
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import CureHint, CureKind, LocalHazard, Retraces, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        if name != TF_FUNCTION or not view.any_of(call.op, _is_traced_function):
            continue
        loop = view.innermost_loop(call.op)
        if loop is not None and _is_called_in(view, call, loop):
            yield LocalHazard(
                call.op,
                "this `tf.function` is created and called in a loop: each iteration traces it again",
                cure=CureHint(CureKind.HOISTED_FUNCTION),
            )


def _is_traced_function(value: Value) -> bool:
    # `tf.function(jit_compile=True)` returns a decorator, which another call applies
    return isinstance(value, FunctionValue) and value.hybrid is not None


def _is_called_in(view: ContextView, made: Call, loop: Region) -> bool:
    """Whether the loop calls the created function; a list of functions created in a loop is acceptable."""
    names = {write.name for write in view.code.of_kind(NameWrite) if write.value == made.op and loop.holds(write.op)}
    return any(
        loop.holds(call.op) and (call.function == made.op or call.called_name in names)
        for call in view.code.of_kind(Call)
    )


RULE: Final = Rule(
    id="TR203",
    name="function-made-in-loop",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A `tf.function` that is created inside a loop is traced in every iteration.",
    explanation=(
        "Every `tf.function(...)`, and every decorated `def` that is executed, is a new function without graphs. "
        "TensorFlow warns: `5 out of the last 5 calls to <function ...> triggered tf.function retracing ... creating "
        "@tf.function repeatedly in a loop`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def square(x):
    return x * x


for _ in range(3):
    step = tf.function(square)  # TR203
    result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


def square(x):
    return x * x


step = tf.function(square)
for _ in range(3):
    result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


def square(x):
    return x * x


def double(x):
    return x * 2.0


steps = []
for function in (square, double):
    steps.append(tf.function(function))
for _ in range(3):
    result = steps[0](tf.ones([3])) + steps[1](tf.ones([3]))
""",
    ),
    cure="Create it once, outside of the loop.",
    check=check,
    retraces=Retraces(("new function",), "make the `tf.function` once"),
)
