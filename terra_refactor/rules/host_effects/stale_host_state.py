"""TR106: Python state that other code changes between calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.module_changes import ModuleChanges, attribute_key, class_key, global_key, item_key
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView


def check(view: ContextView) -> Iterator[LocalHazard]:
    """Reads of what the code of a module changes between calls; what functions change is an effect of the analysis."""
    if view.function.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY):
        return
    changes = view.shared.get("module changes")
    if not isinstance(changes, ModuleChanges):
        changes = view.shared["module changes"] = ModuleChanges(view.program, view.facts)
    for op in view.code.ops:
        for key, certain in _read(view, op):
            change = changes.between_calls(key, view.function.id)
            if change is not None and op is not None:
                written = view.written(op.id)
                yield LocalHazard(
                    op.id,
                    f"`{written}` is read when the graph is traced, and line {change.line} changes it between calls",
                    None if certain else f"`{written}` does not change between calls",
                )
                break


def _read(view: ContextView, op: ops.Op | None) -> Iterator[tuple[Hashable, bool]]:
    """What an operation reads, and whether it is certainly that and not its like."""
    match op:
        case ops.LoadName(name=name, scope=ops.Scope.GLOBAL):
            yield global_key(view.function.id.module, name), True
            yield from ((key, True) for key in item_key(view.facts, view.value(op.id)))
        case ops.LoadAttribute(object=owner, name=name):
            yield from ((key, True) for key in attribute_key(view.value(owner), name))
            yield from ((key, False) for key in class_key(view.facts, view.value(owner), name))
        case _:
            return


RULE: Final = Rule(
    id="TR106",
    name="stale-host-state",
    kind=RuleKind.HAZARD,
    severity=Severity.WARNING,
    summary="A graph keeps the value that Python state had when it was traced, although other code changes it between calls.",
    explanation=(
        "A global, `self.x` or the content of a list is read once for each trace. When other code assigns it later, eager code "
        "would see the new value; the graph goes on with the old one, silently. What a script changes in its own loop around the "
        "calls is certain. Whether another function that changes it really runs between two calls is not followed: that is a "
        "warning, and an assumption of the decision about an eager function."
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
    check=check,
)
