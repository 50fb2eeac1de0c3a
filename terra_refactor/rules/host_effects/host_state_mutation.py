"""TR102: writes to Python state that outlives the call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind
from terra_refactor.domain.effect import EffectKind, RootKind
from terra_refactor.facts.records import DECISIONS, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_LEAVES: Final = Trait.LEAVES_GRAPH


def check(view: ContextView) -> Iterator[LocalHazard]:
    """Effects of TensorFlow operations outside of the graph: they occur only during tracing, like Python side effects."""
    regions = [region for region in view.code.of_kind(Region) if region.kind is RegionKind.WITH]
    outside = [
        region for region in regions if any(has_trait(name, _LEAVES) for name in view.library_of(region.subject))
    ]
    for number in sorted(number for region in outside for number in _done(view, region)):
        first = f"`{view.written(number)}` runs the first time only" if _is_conditional(view, number) else None
        yield LocalHazard(
            number,
            f"`{view.written(number)}` under `tf.init_scope` runs only while a graph is traced, not on every call",
            first,
        )


def _done(view: ContextView, region: Region) -> set[OpId]:
    """The operations of a region, or of its callees, that change TensorFlow state that outlives the call, or produce output."""
    changing = (
        (effect.via[0] if effect.via else effect.site).op
        for effect in view.context.effects
        if effect.kind is EffectKind.TENSOR_STATE and effect.target.root is not RootKind.FRESH
    )
    found = {number for number in changing if region.holds(number)}
    for number, fact in view.calls.items():
        if region.holds(number):
            inner = [*fact.library]
            for context in view.called_from(fact.callees):
                inner += [name for call in context.calls for name in call.library]
            if any(has_trait(name, Trait.GIVES_OPERATION) for name in inner):
                found.add(number)
    return found


def _is_conditional(view: ContextView, number: OpId) -> bool:
    """Whether a Python condition decides that it runs: usually a test that something does not exist yet."""
    return any(
        region.kind in DECISIONS and view.kind_of(region) is not BranchKind.TENSOR for region in view.enclosing(number)
    )


RULE: Final = Rule(
    id="TR102",
    name="host-state-mutation",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A write to a global, a captured variable, or an object that outlives the call runs only while a graph is traced.",
    explanation=(
        "Counters, `list.append`, dict writes, `del`, attributes of `self`: a `tf.function` runs them once per trace, at any depth of "
        "calls. Objects created in the same call may change freely. Variables, optimizers and metrics are TensorFlow state, which a graph "
        "updates like eager code does. An update under `tf.init_scope` is outside of the graph, so it runs once per trace, too."
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
    check=check,
    cured_by_shim=True,
    wrong_in_graph=True,
    effect_message="`{done}` runs only while a graph is traced; later calls do not change `{changed}`",
)
