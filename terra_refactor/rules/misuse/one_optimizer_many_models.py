"""TR604: one optimizer for the variables of several models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import Reference
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    seen: dict[object, tuple[OpId, ops.Op]] = {}
    for call, name in view.library_calls():
        if not name.startswith("keras.optimizers.") or not name.endswith((".apply_gradients", ".apply", ".minimize")):
            continue
        method = view.op(call.function)
        if not isinstance(method, ops.LoadAttribute) or _is_built_elsewhere(view):
            continue
        optimizer = view.op(method.object)
        model = _model_of(view, call)
        if model is None or not isinstance(optimizer, ops.LoadName | ops.LoadAttribute):
            continue
        key = (type(optimizer), optimizer.name, view.value(method.object))
        other = seen.get(key)
        if other is not None and isinstance(view.value(model.id), Reference):
            if view.value(other[1].id) != view.value(model.id):
                yield LocalHazard(
                    call.id,
                    f"`{view.written(method.object)}` was given the variables of `{view.written(other[1].id)}` before: "
                    "an optimizer knows the variables of its first call only",
                )
                continue
        seen.setdefault(key, (call.id, model))
        if _is_captured_name(optimizer) and _gets_several(view, model):
            yield LocalHazard(
                call.id,
                f"`{view.written(method.object)}` gets the variables of several models (`{view.written(model.id)}` differs from call to "
                "call): an optimizer knows the variables of its first call only",
            )


def _is_captured_name(optimizer: ops.Op) -> bool:
    return isinstance(optimizer, ops.LoadName) and optimizer.scope in (ops.Scope.GLOBAL, ops.Scope.FREE)


def _model_of(view: ContextView, call: ops.Call) -> ops.LoadName | ops.LoadAttribute | None:
    """The model whose variables a call is given, directly or through `zip`; None unless there is exactly one."""
    found: list[ops.LoadName | ops.LoadAttribute] = []
    pending = [argument.value for argument in call.arguments]
    for _ in range(20):
        if not pending:
            break
        op = view.op(view.behind_name(pending.pop()))
        if isinstance(op, ops.LoadAttribute) and op.name in _LISTS:
            owner = view.op(op.object)
            if isinstance(owner, ops.LoadName | ops.LoadAttribute):
                found.append(owner)
        elif isinstance(op, ops.Call) and set(view.calls[op.id].library) <= {"builtins.zip", "builtins.list"}:
            pending.extend(argument.value for argument in op.arguments)
    return found[0] if len(found) == 1 else None


def _is_built_elsewhere(view: ContextView) -> bool:
    """Whether some optimizer is built explicitly: then it may know all variables."""
    return any(
        name.startswith("keras.optimizers.") and name.endswith(".build")
        for context in view.facts.contexts
        for fact in context.calls
        for name in fact.library
    )


def _gets_several(view: ContextView, model: ops.Op) -> bool:
    """Whether the model is a parameter for which callers pass different objects."""
    name = view.parameter_behind(model.id) if isinstance(model, ops.LoadName) else None
    if name is None:
        return False
    position = [parameter.name for parameter in view.function.parameters].index(name)
    brought: set[Reference] = set()
    for caller in view.callers:
        context = view.facts.contexts[caller.context]
        call = next((op for op in walk(view.program.function(context.function).body) if op.id == caller.op), None)
        if not isinstance(call, ops.Call) or position >= len(call.arguments):
            return False
        argument = call.arguments[position]
        value = context.value(argument.value)
        if argument.keyword is not None or argument.spread is not ops.Spread.PLAIN or not isinstance(value, Reference):
            return False
        if view.facts.objects[value.object].kind is not ObjectKind.INSTANCE:
            return False
        brought.add(value)
    return len(brought) > 1


RULE: Final = Rule(
    id="TR604",
    name="one-optimizer-many-models",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="One optimizer that gets the variables of several models raises at the second.",
    explanation=(
        "A Keras 3 optimizer makes its slots for the variables of its first call: `ValueError: Unknown variable: ... This optimizer can "
        "only be called for the variables it was originally built with`. In Keras 2 a traced function may not make more: `ValueError: "
        "tf.function only supports singleton tf.Variables created on the first call`."
    ),
    samples=Samples(
        bad="""\
import keras
import tensorflow as tf

first = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
second = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.1)


@tf.function
def step(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # TR604
    return loss


step(first, tf.ones([2, 3]))
step(second, tf.ones([2, 3]))
""",
        good="""\
import keras
import tensorflow as tf


def make_step(model, optimizer):
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


for _ in range(2):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
    step = make_step(model, keras.optimizers.Adam(0.1))
    step(tf.ones([2, 3]))
""",
        near_miss="""\
import keras
import tensorflow as tf

first = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
second = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.1)
optimizer.build(first.trainable_variables + second.trainable_variables)


def gradients_of(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    return tape.gradient(loss, model.trainable_variables)


gradients_of(first, tf.ones([2, 3]))
gradients_of(second, tf.ones([2, 3]))
""",
    ),
    cure="Make an optimizer, and a traced function, for each model; or build the optimizer with all variables.",
    check=check,
)
