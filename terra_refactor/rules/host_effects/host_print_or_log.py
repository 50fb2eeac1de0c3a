"""TR101: printing and logging."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import CureHint, CureKind, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import PRINT


def _cure_of_output(view: ContextView, number: OpId) -> CureHint | None:
    """`print` has an equivalent; logging, warnings and progress bars have none."""
    return CureHint(CureKind.TF_PRINT) if view.calls[number].library == (PRINT,) else None


RULE: Final = Rule(
    id="TR101",
    name="host-print-or-log",
    kind=RuleKind.HAZARD,
    severity=Severity.WARNING,
    summary="Printing, logging and warnings run only while a graph is traced, not on every call.",
    explanation=(
        "`print`, `logging`, `warnings` and progress bars are Python code. A `tf.function` runs its Python code once per "
        'trace, so the text appears once (with symbolic tensors in it, such as `Tensor("x:0", shape=(), dtype=float32)`) '
        "and not on later calls. Messages below WARNING that nothing configures `logging` to show, and warnings, which Python shows "
        "once per place, are an assumption of the decision."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    print("loss", x)  # TR101
    return x * 2.0


for value in (1.0, 2.0):
    step(tf.constant(value))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    tf.print("loss", x)
    return x * 2.0


for value in (1.0, 2.0):
    step(tf.constant(value))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    return x * 2.0


for value in (1.0, 2.0):
    print("loss", float(step(tf.constant(value))))
""",
    ),
    cure="Use `tf.print`, or print what the function returns.",
    cure_of_effect=_cure_of_output,
    effects=frozenset({EffectKind.PRINT, EffectKind.LOG}),
    cured_by_shim=True,
)
