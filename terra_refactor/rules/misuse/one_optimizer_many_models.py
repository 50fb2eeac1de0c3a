"""TR604: one optimizer for the variables of several models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.value import Reference, Value
from terra_refactor.facts.records import AttributeRead, Call, Fact, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import LIST, ZIP
from terra_refactor.tf_model.releases import OPTIMIZERS_HAVE_VARIABLES
from terra_refactor.tf_model.spec import Trait

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    seen: dict[object, Fact] = {}
    for call, name in view.calls_with(Trait.TAKES_VARIABLES):
        if call.owner is None or name.endswith(".build") or _is_built_elsewhere(view):
            continue
        optimizer, model = view.made(call.owner), _model_of(view, call)
        if model is None or not isinstance(optimizer, NameRead | AttributeRead):
            continue
        key = (type(optimizer), optimizer.name, view.value(call.owner))
        other = seen.get(key)
        if other is not None and isinstance(view.value(model.op), Reference):
            if view.value(other.op) != view.value(model.op):
                yield LocalHazard(
                    call.op,
                    f"`{view.written(call.owner)}` was given the variables of `{view.written(other.op)}` before: "
                    "an optimizer knows the variables of its first call only",
                    in_use=OPTIMIZERS_HAVE_VARIABLES,
                )
                continue
        seen.setdefault(key, model)
        if isinstance(optimizer, NameRead) and optimizer.outlives_call and _gets_several(view, model):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.owner)}` gets the variables of several models (`{view.written(model.op)}` differs from call to "
                "call): an optimizer knows the variables of its first call only",
                in_use=OPTIMIZERS_HAVE_VARIABLES,
            )


def _model_of(view: ContextView, call: Call) -> NameRead | AttributeRead | None:
    """The model whose variables are passed to a call, directly or through `zip`; None unless there is exactly one."""

    def zipped(fact: Fact) -> list[OpId]:
        lists = isinstance(fact, Call) and set(view.library_of(fact.op)) <= {ZIP, LIST}
        return [argument.value for argument in fact.arguments] if isinstance(fact, Call) and lists else []

    reads = {
        read.op: read.owner
        for argument in call.arguments
        for read in view.behind(argument.value, zipped)
        if isinstance(read, AttributeRead) and read.name in _LISTS
    }
    models = [view.made(owner) for owner in reads.values()]
    found = [model for model in models if isinstance(model, NameRead | AttributeRead)]
    return found[0] if len(found) == 1 else None


def _is_built_elsewhere(view: ContextView) -> bool:
    """Whether some optimizer is built explicitly, and so may know all variables."""
    return view.facts.is_called(Trait.TAKES_VARIABLES, ".build")


def _gets_several(view: ContextView, model: Fact) -> bool:
    """Whether the model is a parameter for which callers pass different objects."""
    name = view.parameter_behind(model.op) if isinstance(model, NameRead) else None
    if name is None:
        return False
    brought: set[Value] = set()
    for caller, call in view.calls_of_function():
        given = None if call is None else caller.given_for(call, view.function, name)
        if given is None or not isinstance(value := caller.value(given), Reference):
            return False
        if view.object_kind(value) is not ObjectKind.INSTANCE:
            return False
        brought.add(value)
    return len(brought) > 1


RULE: Final = Rule(
    id="TR604",
    name="one-optimizer-many-models",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="An optimizer that gets the variables of several models raises for the second model.",
    explanation=(
        "A Keras 3 optimizer creates its slot variables for the model variables of its first call; others raise `ValueError: Unknown "
        "variable: ... This optimizer can only be called for the variables it was originally built with`. In Keras 2, a traced function "
        "that creates more raises `ValueError: tf.function only supports singleton tf.Variables created on the first call`."
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
    cure="Create an optimizer, and a traced function, for each model; or build the optimizer with all variables.",
    check=check,
)
