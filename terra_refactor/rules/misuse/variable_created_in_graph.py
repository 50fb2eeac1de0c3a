"""TR603: variables that are made inside a graph."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import CureHint, CureKind, Rule, RuleKind, Samples, Severity


def cure_of_effect(view: ContextView, number: OpId) -> CureHint | None:
    """A constructor can be called elsewhere; `build` and its kin belong where they are."""
    names = view.library_of(number)
    made = all(name.rpartition(".")[2][:1].isupper() for name in names)
    return CureHint(CureKind.CREATION_OUTSIDE) if names and made and isinstance(view.made(number), Call) else None


RULE: Final = Rule(
    id="TR603",
    name="variable-created-in-graph",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "Variables, layers, metrics, optimizers and models that are created inside a function are created again in each "
        "trace, which raises."
    ),
    explanation=(
        "On the second trace TensorFlow raises `ValueError: tf.function only supports singleton tf.Variables created on "
        "the first call`. Creation on the first call only (`if self.v is None: self.v = tf.Variable(...)`, a Keras "
        "layer's `build`) is fine."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    w = tf.Variable(tf.ones([3]))  # TR603
    return x * w


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf

w = tf.Variable(tf.ones([3]))


@tf.function
def step(x):
    return x * w


step(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


class Scale:
    def __init__(self):
        self.w = None

    @tf.function
    def apply(self, x):
        if self.w is None:
            self.w = tf.Variable(tf.ones([3]))
        return x * self.w


scale = Scale()
scale.apply(tf.ones([3]))
""",
    ),
    cure="Make it in `__init__`, in `build`, or in the module, and use it in the function.",
    effects=frozenset({EffectKind.VARIABLE_CREATION}),
    cure_of_effect=cure_of_effect,
    of_set_up=True,
    effect_message="`{done}` creates variables: a graph may do that only in its first trace",
)
