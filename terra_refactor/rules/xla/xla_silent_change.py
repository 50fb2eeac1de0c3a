"""TR702: operations that `jit_compile=True` silently drops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextId
from terra_refactor.domain.value import TRUE, Constant
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import TENSOR_ARRAY
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    if dict(view.function_facts.hybrid or ()).get("jit_compile") != TRUE:
        return
    for call in view.context.calls:
        found = next(_lost(view, call.op), None) or next(_lost_below(view, call.callees), None)
        if found is not None:
            yield LocalHazard(call.op, f"under `jit_compile=True` {found}")


def _lost_below(view: ContextView, callees: tuple[ContextId, ...]) -> Iterator[str]:
    for context in view.called_from(callees):
        inner = ContextView(view.codes, view.facts, context)
        for call in context.calls:
            for text in _lost(inner, call.op):
                yield f"{text} (in {inner.function.qualname})"


def _lost(view: ContextView, number: OpId) -> Iterator[str]:
    """The behaviour of a call that is missing in the compiled program."""
    call = view.made(number)
    for name in view.library_of(number) if isinstance(call, Call) else ():
        if has_trait(name, Trait.DROPPED_BY_XLA):
            yield f"XLA drops `{view.written(number)}`: it never fails"
        elif name == TENSOR_ARRAY and isinstance(call, Call) and _is_empty(view, call):
            yield f"writes to `{view.written(number)}` of size 0 are dropped: it cannot grow"


def _is_empty(view: ContextView, call: Call) -> bool:
    size, dynamic = call.argument(1, "size"), call.argument(2, "dynamic_size")
    is_empty = size is None or view.value(size) == Constant(0)
    return is_empty and dynamic is not None and view.value(dynamic) == TRUE


RULE: Final = Rule(
    id="TR702",
    name="xla-silent-change",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="Under `jit_compile=True`, XLA drops assertions, and writes to a `TensorArray` that has to grow.",
    explanation=(
        "XLA compiles programs of fixed shapes without side effects. `tf.debugging.assert_*` and `check_numerics` are left out; a "
        "`tf.TensorArray(size=0, dynamic_size=True)` stays empty, and `stack()` gives a tensor of size 0. Nothing raises."
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
