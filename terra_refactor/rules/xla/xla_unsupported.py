"""TR701: operations that XLA cannot compile, under `jit_compile=True`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId
from terra_refactor.domain.value import TRUE
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import is_of_tensorflow
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    if dict(view.function_facts.hybrid or ()).get("jit_compile") != TRUE:
        return
    for call in view.context.calls:
        found = _reached(view, call.library, call.callees)
        if found is not None:
            name, way = found
            through = f", through {' → '.join(way)}" if way else ""
            yield LocalHazard(call.op, f"`{view.written(call.op)}` reaches `{name}`, which XLA cannot compile{through}")


def _reached(
    view: ContextView, library: tuple[str, ...], callees: tuple[ContextId, ...]
) -> tuple[str, tuple[str, ...]] | None:
    """The first operation reached by a call that XLA does not support, and the functions on the path."""
    for name in library:
        if has_trait(name, Trait.XLA_UNSUPPORTED):
            return _written(name), ()
    pending: list[tuple[ContextFacts, tuple[str, ...]]] = [(view.facts.contexts[callee], ()) for callee in callees]
    seen = set(callees)
    while pending:
        context, way = pending.pop()
        here = (*way, view.program.function(context.function).qualname)
        for call in context.calls:
            for name in call.library:
                if has_trait(name, Trait.XLA_UNSUPPORTED):
                    return _written(name), here
            for callee in call.callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append((view.facts.contexts[callee], here))
    return None


def _written(name: str) -> str:
    return "tf" + name.removeprefix("tensorflow") if is_of_tensorflow(name) else name


RULE: Final = Rule(
    id="TR701",
    name="xla-unsupported",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="`jit_compile=True` on a function that reaches strings, `tf.print`, `tf.py_function`, hash tables or dataset iteration raises.",
    explanation=(
        "XLA compiles the whole function or nothing: `InvalidArgumentError: Detected unsupported operations when trying to compile graph "
        "... on XLA_CPU_JIT: StringFormat (No registered 'StringFormat' OpKernel for XLA_CPU_JIT devices ...)`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function(jit_compile=True)
def step(x):
    tf.print("x", x)  # TR701
    return x * 2.0


result = step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    tf.print("x", x)
    return x * 2.0


result = step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


@tf.function(jit_compile=True)
def step(x):
    values, _ = tf.unique(x)
    return tf.reduce_sum(tf.boolean_mask(x, x > 1.0)) + tf.reduce_sum(values)


result = step(tf.constant([1.0, 2.0, 2.0]))
""",
    ),
    cure="Keep these operations outside of the compiled function, or leave out `jit_compile`.",
    check=check,
)
