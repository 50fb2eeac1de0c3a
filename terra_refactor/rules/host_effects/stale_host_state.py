"""TR106: Python state that other code changes between calls."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR106",
    name="stale-host-state",
    kind=RuleKind.HAZARD,
    severity=Severity.WARNING,
    summary="A graph keeps the value that Python state had when it was traced, although other code changes it between calls.",
    explanation=(
        "A global, `self.x` or the content of a list is read once for each trace. When another function assigns it later, eager code "
        "would see the new value; the graph goes on with the old one, silently. Where the analysis has not seen the change come "
        "after a call, that the state stays as it is is an assumption of the decision about an eager function."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Model:
    def __init__(self):
        self.scale = 1.0

    def set_scale(self, scale):
        self.scale = scale

    @tf.function
    def apply(self, x):
        return x * self.scale  # TR106


model = Model()
first = model.apply(tf.ones([2]))
model.set_scale(2.0)
second = model.apply(tf.ones([2]))
""",
        good="""\
import tensorflow as tf


class Model:
    def __init__(self):
        self.scale = tf.Variable(1.0)

    def set_scale(self, scale):
        self.scale.assign(scale)

    @tf.function
    def apply(self, x):
        return x * self.scale


model = Model()
first = model.apply(tf.ones([2]))
model.set_scale(2.0)
second = model.apply(tf.ones([2]))
""",
        near_miss="""\
import tensorflow as tf


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tf.function
    def apply(self, x):
        return x * self.scale


model = Model(2.0)
result = model.apply(tf.ones([2]))
""",
    ),
    cure="Keep what changes in a `tf.Variable`, or pass it as an argument.",
    effects=frozenset({EffectKind.STATE_READ}),
)
