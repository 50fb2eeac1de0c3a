"""TR317: state between calls in a mutable default or a captured variable."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Reference, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView


def keeps_state(view: ContextView, number: OpId) -> bool:
    """Whether what is written is a captured variable that the function reads as well, or a mutable default."""
    op = view.op(number)
    if isinstance(op, ops.StoreName):
        return op.scope is ops.Scope.FREE and any(
            isinstance(other, ops.LoadName) and other.name == op.name for other in view.code.ops
        )
    container = _written_container(view, op)
    if not isinstance(container, ops.LoadName):
        return False
    parameter = next((each for each in view.function.parameters if each.name == container.name), None)
    return parameter is not None and parameter.has_default and _is_default(view, container)


def _written_container(view: ContextView, op: ops.Op) -> ops.Op | None:
    match op:
        case ops.StoreItem(object=container) | ops.DeleteItem(object=container):
            return view.op(container)
        case ops.Call(function=function):
            method = view.op(function)
            return view.op(method.object) if isinstance(method, ops.LoadAttribute) else None
        case _:
            return None


def _is_default(view: ContextView, container: ops.LoadName) -> bool:
    """Whether the object is the one that the definition made, for every call that passes none."""
    parent = view.function.parent
    if parent is None:
        return False
    defaults = {
        default
        for op in walk(view.program.function(parent).body)
        if isinstance(op, ops.MakeFunction) and op.function == view.function.id
        for name, default in op.defaults
        if name == container.name
    }
    for context in view.facts.contexts_of(parent):
        for default in defaults:
            value = context.value(default)
            if value is not None and any(isinstance(member, Reference) for member in members(value)):
                # which of the two it is that a call brings: the default, unless every call passes one
                return any(_passes_none(view, container.name, place.context, place.op) for place in view.callers)
    return False


def _passes_none(view: ContextView, name: str, caller: int, number: OpId) -> bool:
    """Whether a call leaves that parameter to its default."""
    code = view.program.function(view.facts.contexts[caller].function)
    call = next((op for op in walk(code.body) if op.id == number), None)
    if not isinstance(call, ops.Call) or any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
        return False
    names = [parameter.name for parameter in view.function.parameters]
    positional = sum(argument.keyword is None for argument in call.arguments)
    bound = int(bool(names) and names[0] in ("self", "cls"))
    return names.index(name) >= positional + bound and all(argument.keyword != name for argument in call.arguments)


RULE: Final = Rule(
    id="TR317",
    name="mutable-default-or-closure",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="State that a function keeps between calls in a mutable default or a captured variable is stale in a graph.",
    explanation=(
        "The trace reads the state once and changes it once. A captured variable that is read and set (`nonlocal`) has the value of the "
        "trace in every call; changing a default raises `ValueError: f(x, cache=[]) should not modify its Python input arguments. "
        "Modifying a copy is allowed`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def make():
    total = 0.0

    @tf.function
    def add(x):
        nonlocal total
        total = total + tf.reduce_sum(x)  # TR317
        return total

    return add


add = make()
results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
        good="""\
import tensorflow as tf


def make():
    total = tf.Variable(0.0)

    @tf.function
    def add(x):
        return total.assign_add(tf.reduce_sum(x)) + 0.0

    return add


add = make()
results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def add(x, scales=(1.0, 2.0), parts=None):
    parts = []
    for scale in scales:
        parts.append(x * scale)
    return tf.add_n(parts)


results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
    ),
    cure="Keep the state in a `tf.Variable`, or pass it in and return it.",
    effects=frozenset({EffectKind.STATE_WRITE}),
    only_effects=keeps_state,
)
