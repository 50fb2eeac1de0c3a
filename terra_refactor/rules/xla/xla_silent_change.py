"""TR702: what `jit_compile=True` leaves out without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextId
from terra_refactor.domain.value import TRUE, Constant
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_DROPPED: Final = ("tensorflow.debugging.assert_", "tensorflow.debugging.Assert", "tensorflow.debugging.check_numerics")
_CHECKS_SHAPES: Final = frozenset(
    f"tensorflow.debugging.assert_{name}" for name in ("shapes", "rank", "rank_at_least", "rank_in", "scalar", "type")
)
"""Decided while the graph is traced, as far as shapes are known."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    if dict(view.function_facts.hybrid or ()).get("jit_compile") != TRUE:
        return
    for call in view.context.calls:
        found = next(_lost(view, call.op), None)
        if found is None:
            found = next(_lost_below(view, call.callees), None)
        if found is not None:
            yield LocalHazard(call.op, f"under `jit_compile=True` {found}")


def _lost_below(view: ContextView, callees: tuple[ContextId, ...]) -> Iterator[str]:
    pending, seen = list(callees), set(callees)
    while pending:
        context = view.facts.contexts[pending.pop()]
        function = view.program.function(context.function)
        inner = ContextView(view.codes, view.facts, context)
        for call in context.calls:
            for text in _lost(inner, call.op):
                yield f"{text} (in {function.qualname})"
            for callee in call.callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)


def _lost(view: ContextView, number: OpId) -> Iterator[str]:
    """What a call does that the compiled program does not."""
    call = view.op(number)
    if not isinstance(call, ops.Call):
        return
    for name in view.calls[number].library:
        if name.startswith(_DROPPED) and name not in _CHECKS_SHAPES:
            yield f"`{view.written(call.id)}` is dropped: it never fails"
        elif name == "tensorflow.TensorArray" and _is_empty(view, call):
            yield f"what is written to `{view.written(call.id)}` of size 0 is dropped: it cannot grow"


def _is_empty(view: ContextView, call: ops.Call) -> bool:
    given = {argument.keyword: view.value(argument.value) for argument in call.arguments if argument.keyword}
    positional = [view.value(argument.value) for argument in call.arguments if argument.keyword is None]
    size = given.get("size", positional[1] if len(positional) > 1 else Constant(0))
    dynamic = given.get("dynamic_size", positional[2] if len(positional) > 2 else Constant(None))
    return size == Constant(0) and dynamic == TRUE


RULE: Final = Rule(
    id="TR702",
    name="xla-silent-change",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="Under `jit_compile=True` assertions are dropped, and so is what is written to a `TensorArray` that has to grow.",
    explanation=(
        "XLA compiles programs of fixed shapes without side effects. `tf.debugging.assert_*` and `check_numerics` are left out; a "
        "`tf.TensorArray(size=0, dynamic_size=True)` stays empty, and `stack()` gives a tensor of size 0. Nothing is said."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(jit_compile=True)
def squares(x):
    parts = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # TR702
    for i in range(3):
        parts = parts.write(i, x[i] * x[i])
    return parts.stack()


result = squares(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function(jit_compile=True)
def squares(x):
    parts = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        parts = parts.write(i, x[i] * x[i])
    return parts.stack()


result = squares(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def squares(x):
    parts = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        parts = parts.write(i, x[i] * x[i])
    return parts.stack()


result = squares(tf.ones([3]))
""",
    ),
    cure="Give the `TensorArray` its size; check values outside of the compiled function.",
    check=check,
)
