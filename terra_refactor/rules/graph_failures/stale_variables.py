"""TR313: a model's variables are read before it has any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Reference, members
from terra_refactor.facts.records import AttributeRead, Call, Display, Fact
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import SEQUENTIAL, is_layer_class
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})
_SHAPES: Final = ("input_shape", "input_dim", "batch_input_shape", "batch_shape")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for read in view.reached(AttributeRead):
        if read.name not in _LISTS:
            continue
        model = view.value(read.owner)
        if not isinstance(model, Reference) or not _is_unbuilt(view, model, read.op):
            continue
        use = _given_to_optimizer(view, read.op)
        if use is not None:
            yield LocalHazard(
                read.op,
                f"`{view.written(read.op)}` is empty here, because the model is not built yet; `{view.written(use)}` gets the empty list",
            )


def _is_unbuilt(view: ContextView, model: Reference, read: OpId) -> bool:
    """Whether the model is a `Sequential` without an input shape that is created in this function, and not called
    before the read.
    """
    calls = [call for call in view.code.of_kind(Call) if call.op < read]
    made = next(
        (call for call in calls if SEQUENTIAL in view.library_of(call.op) and view.value(call.op) == model),
        None,
    )
    if made is None or len(made.arguments) != 1:
        return False
    display = view.origin(made.arguments[0].value)
    if not isinstance(display, Display) or not display.is_sequence or not display.items:
        return False
    if not all(_has_no_shape(view, view.made(item.value)) for item in display.items):
        return False
    return not any(_touches(view, call, model) for call in calls if call.op > made.op)


def _has_no_shape(view: ContextView, layer: Fact | None) -> bool:
    fact = None if layer is None else view.calls.get(layer.op)
    if not isinstance(layer, Call) or fact is None or fact.callees or not fact.library:
        return False
    if any(not is_layer_class(name) or has_trait(name, Trait.GIVES_INPUT_SHAPE) for name in fact.library):
        return False
    return all(layer.keyword(name) is None for name in _SHAPES)


def _touches(view: ContextView, call: Call, model: Reference) -> bool:
    """Whether a call may build the model: it is called, one of its methods is, or it is passed on."""
    given = [call.function if call.owner is None else call.owner, *(argument.value for argument in call.arguments)]
    return any(model in members(view.value(number)) for number in given) or bool(view.calls[call.op].callees)


def _given_to_optimizer(view: ContextView, number: OpId) -> OpId | None:
    """The optimizer method to which the list is passed, directly or indirectly within this function."""

    def handed_on(fact: Fact) -> list[OpId]:
        return [argument.value for argument in fact.arguments] if isinstance(fact, Call) else []

    for call, _ in view.calls_with(Trait.TAKES_VARIABLES):
        if any(fact.op == number for argument in call.arguments for fact in view.behind(argument.value, handed_on)):
            return call.op
    return None


RULE: Final = Rule(
    id="TR313",
    name="stale-variables",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="`model.trainable_variables` that is read before the model is built is an empty list; an optimizer that gets it raises.",
    explanation=(
        "A `Sequential` without an input shape has no variables until it is called. A list that was read before that stays empty, which "
        "raises `ValueError: not enough values to unpack (expected 2, got 0)` from `apply_gradients`, or, where the optimizer was built "
        "with it, `ValueError: Unknown variable: ... This optimizer can only be called for the variables it was originally built with`."
    ),
    samples=Samples(
        bad="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)  # TR313


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


step(tf.ones([2, 3]))
""",
        good="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


step(tf.ones([2, 3]))
""",
        near_miss="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.layers.Dense(2)])
model.build([None, 3])
optimizer = keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)
""",
    ),
    cure="Give the model an `Input`, or build it first.",
    check=check,
)
