"""TR102: writes to Python state that outlives the call."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR102",
    name="host-state-mutation",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A write to a global, a captured variable, or an object that outlives the call runs only while a graph is traced.",
    explanation=(
        "Counters, `list.append`, dict writes, `del`, attributes of `self`: a `tf.function` runs them once per trace, at "
        "any depth of calls. Objects created in the same call may change freely. Variables, optimizers and metrics are "
        "TensorFlow state, which a graph updates as eager code does."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

history = []


@tf.function
def step(x):
    y = tf.reduce_sum(x * x)
    history.append(1)  # TR102
    return y


for _ in range(3):
    step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf

history = []


@tf.function
def step(x):
    return tf.reduce_sum(x * x)


for _ in range(3):
    history.append(step(tf.ones([3])))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def step(x):
    parts = []
    for scale in (1.0, 2.0):
        parts.append(x * scale)
    return tf.concat(parts, axis=0)


step(tf.ones([3]))
""",
    ),
    cure="Return the value and let the caller keep it; keep counts in a `tf.Variable`.",
    effects=frozenset({EffectKind.STATE_WRITE}),
    cured_by_shim=True,
    wrong_in_graph=True,
    effect_message="`{done}` runs only while a graph is traced; later calls do not change `{changed}`",
)
