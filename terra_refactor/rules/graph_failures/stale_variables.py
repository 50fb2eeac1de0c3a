"""TR313: variables that are asked for before a model has any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Reference, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.rules.view import ContextView

_LISTS: Final = frozenset({"trainable_variables", "trainable_weights"})
_TAKES: Final = (".apply_gradients", ".apply", ".build", ".minimize")
_GIVES_SHAPES: Final = ("keras.Input", "keras.layers.InputLayer", "keras.layers.Input")


def check(view: ContextView) -> Iterator[LocalHazard]:
    for read in view.reached(ops.LoadAttribute):
        if read.name not in _LISTS:
            continue
        model = view.value(read.object)
        if not isinstance(model, Reference) or not _is_unbuilt(view, model, read):
            continue
        use = _given_to_optimizer(view, read.id)
        if use is not None:
            yield LocalHazard(
                read.id,
                f"`{view.written(read.id)}` is empty here, for the model is not built yet; `{view.written(use)}` gets the empty list",
            )


def _is_unbuilt(view: ContextView, model: Reference, read: ops.LoadAttribute) -> bool:
    """Whether the model is a `Sequential` without an input shape that is made in this function, and not called before the read."""
    made = next(
        (
            op
            for op, name in view.library_calls()
            if name == "keras.Sequential" and view.value(op.id) == model and op.id < read.id
        ),
        None,
    )
    if made is None or len(made.arguments) != 1:
        return False
    display = view.op(view.behind_name(made.arguments[0].value))
    if not isinstance(display, ops.BuildContainer) or not display.elements:
        return False
    layers = [view.op(element.value) for element in display.elements]
    if not all(isinstance(layer, ops.Call) and _has_no_shape(view, layer) for layer in layers):
        return False
    between = (op for op in view.code.ops[made.id + 1 : read.id] if op is not None)
    return not any(_touches(view, op, model) for op in between)


def _has_no_shape(view: ContextView, layer: Op) -> bool:
    assert isinstance(layer, ops.Call)
    fact = view.calls.get(layer.id)
    if fact is None or fact.callees or not fact.library or any(name in _GIVES_SHAPES for name in fact.library):
        return False
    if not all(name.startswith("keras.layers.") for name in fact.library):
        return False
    keywords = {argument.keyword for argument in layer.arguments}
    return keywords.isdisjoint({"input_shape", "input_dim", "batch_input_shape", "batch_shape"})


def _touches(view: ContextView, op: Op, model: Reference) -> bool:
    """Whether an operation may build the model: it is called, one of its methods is, or it is handed on."""
    if not isinstance(op, ops.Call):
        return False
    function = view.op(op.function)
    receivers = [function.object] if isinstance(function, ops.LoadAttribute) else [op.function]
    given = [*receivers, *(argument.value for argument in op.arguments)]
    return any(model in members(view.value(number)) for number in given) or bool(view.calls[op.id].callees)


def _given_to_optimizer(view: ContextView, number: OpId) -> OpId | None:
    """The optimizer's method that gets the list, in any way within this function."""
    for call, name in view.library_calls():
        if name.startswith("keras.optimizers.") and name.endswith(_TAKES):
            if any(_reads(view, argument.value, number, 0) for argument in call.arguments):
                return call.id
    return None


def _reads(view: ContextView, number: OpId, wanted: OpId, depth: int) -> bool:
    number = view.behind_name(number)
    if number == wanted:
        return True
    op = view.op(number)
    if depth < 4 and isinstance(op, ops.Call):
        return any(_reads(view, argument.value, wanted, depth + 1) for argument in op.arguments)
    return False


RULE: Final = Rule(
    id="TR313",
    name="stale-variables",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="`model.trainable_variables` that is read before the model is built is an empty list; an optimizer that gets it raises.",
    explanation=(
        "A `Sequential` without an input shape has no variables until it is called. A list of them that was taken before stays empty: "
        "`ValueError: not enough values to unpack (expected 2, got 0)` from `apply_gradients`, or, where the optimizer was built with "
        "it, `ValueError: Unknown variable: ... This optimizer can only be called for the variables it was originally built with`."
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
