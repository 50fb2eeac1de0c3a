"""TR106: Python state that other code changes between calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind
from terra_refactor.domain.effect import EffectKind
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    """What is no effect of anything: captured variables, and state of Keras."""
    yield from _captured_variables(view)
    yield from _lists_of_variables(view)


def _captured_variables(view: ContextView) -> Iterator[LocalHazard]:
    """Variables of a function around it that are bound again after the function was made: a trace has the value of its time."""
    read = {op.name: op.id for op in reversed(view.code.of_kind(ops.LoadName)) if op.scope is ops.Scope.FREE}
    inner = view.function
    while read and inner.parent is not None:
        around = view.codes.of(inner.parent)
        made = [op.id for op in around.of_kind(ops.MakeFunction) if op.function == inner.id]
        for name, load in sorted(read.items()):
            if len(made) == 1 and _is_bound_again(around, name, made[0]):
                yield LocalHazard(
                    load,
                    f"a graph keeps the value that `{name}` had when it was traced; the enclosing function rebinds it later",
                    f"`{name}` does not change between calls",
                    boundary=True,
                )
        inner = around.function


def _is_bound_again(around: CodeIndex, name: str, made: OpId) -> bool:
    """Whether a variable may get several values while a function that was made once is there."""
    stores = [op.id for op in around.of_kind(ops.StoreName) if op.name == name and op.scope is ops.Scope.CELL]
    later = [number for number in stores if number > made]
    before = len(stores) - len(later) + any(parameter.name == name for parameter in around.function.parameters)
    return bool(later) and (before + len(later) > 1 or any(_is_repeated(around, number, made) for number in later))


def _is_repeated(around: CodeIndex, number: OpId, made: OpId) -> bool:
    """Whether a loop repeats an operation, and not the one that makes the function."""
    loops = _loops_around(around, number) - _loops_around(around, made)
    return bool(loops)


def _loops_around(around: CodeIndex, number: OpId) -> frozenset[OpId]:
    found: set[OpId] = set()
    parent = around.parents[number]
    while parent is not None:
        if isinstance(around.ops[parent], ops.For | ops.While):
            found.add(parent)
        parent = around.parents[parent]
    return frozenset(found)


def _lists_of_variables(view: ContextView) -> Iterator[LocalHazard]:
    """Lists of trainable variables, where a script freezes or thaws layers between calls: state of Keras, which is no effect here."""
    reads = [op for op in view.reached(ops.LoadAttribute) if op.name in _LISTS]
    if not reads or not any(_freezes_between_calls(view, context) for context in view.facts.contexts):
        return
    for op in reads:
        written = view.written(op.id)
        message = f"a graph keeps the value that `{written}` had when it was traced; `trainable` is set between calls"
        yield LocalHazard(op.id, message, f"`{written}` does not change between calls")


def _freezes_between_calls(view: ContextView, module: ContextFacts) -> bool:
    """Whether a module body sets some `trainable` after a call that reaches the function, and before another."""
    if module.entry is not EntryKind.MODULE:
        return False
    sets = [op.id for op in view.codes.of(module.function).of_kind(ops.StoreAttribute) if op.name == "trainable"]
    if not sets:
        return False
    calls = [call.op for call in module.calls if _reaches(view, call.callees, view.function.id)]
    return any(min(calls) < number < max(calls) for number in sets) if calls else False


def _reaches(view: ContextView, callees: tuple[ContextId, ...], function: FunctionId) -> bool:
    pending, seen = list(callees), set(callees)
    while pending:
        context = view.facts.contexts[pending.pop()]
        if context.function == function:
            return True
        for call in context.calls:
            for callee in call.callees:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)
    return False


RULE: Final = Rule(
    id="TR106",
    name="stale-host-state",
    kind=RuleKind.HAZARD,
    severity=Severity.WARNING,
    summary="A graph keeps the value that Python state had when it was traced; later changes by other code are ignored.",
    explanation=(
        "A global, `self.x` or the content of a list is read once per trace. If another function assigns it later, eager "
        "code sees the new value, and the graph silently keeps the old one. If the analysis has not seen the change "
        "happen after a call, the decision lists the assumption that the state does not change."
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
