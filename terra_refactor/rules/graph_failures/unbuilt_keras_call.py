"""TR316: `tf.function` on the `call` of a Keras layer or model whose sublayers it builds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Reference, members
from terra_refactor.facts.records import AttributeRead, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import called_layer
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def check(view: ContextView) -> Iterator[LocalHazard]:
    function = view.function
    if function.name != "call" or function.parent is None or view.function_facts.hybrid is None:
        return
    if _defines_build(view, function.parent) or _is_called_first(view):
        return
    for call, name in view.library_calls():
        layer = called_layer(name)
        if layer is None or not has_trait(layer, Trait.CREATES_STATE):
            continue
        if isinstance(view.made(call.function), AttributeRead) and isinstance(view.value(call.function), Reference):
            yield LocalHazard(
                call.op,
                f"`{view.written(call.function)}` is built inside of a graph when `call` is traced first: "
                "Keras does not find its variables, and training gives no gradients",
            )
            return


def _defines_build(view: ContextView, body: FunctionId) -> bool:
    """Whether the class has its own `build`, in which it may build its sublayers."""
    return any(other.name == "build" and other.parent == body for other in view.program.modules[body.module].functions)


def _is_called_first(view: ContextView) -> bool:
    """Whether eager code calls the object outside of a tape, which builds it as Keras requires."""
    for caller in view.callers:
        context = view.facts.contexts[caller.context]
        if context.in_graph:
            continue
        libraries = next((fact.library for fact in context.calls if fact.op == caller.op), ())
        if any(not name.endswith(".__call__") for name in libraries):
            # `fit` and similar methods, which trace
            continue
        if all(region.kind is not RegionKind.WITH for region in view.codes.of(context.function).around(caller.op)):
            return True
    return not any(members(value) for name, value in view.context.parameters.items() if name == "self")


RULE: Final = Rule(
    id="TR316",
    name="unbuilt-keras-call",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A `tf.function` on the `call` of a Keras layer or model hides sublayers that are not built yet.",
    explanation=(
        "Keras 3 builds sublayers when `call` runs first. Inside of a traced function it cannot see their variables appear: `fit` raises "
        "`ValueError: No gradients provided for any variable`, and a tape gives None for every gradient. If the sublayers are built before "
        "(by a call, or in `build`), training works, but the decorator gains nothing: `fit` and `predict` trace `call` themselves."
    ),
    samples=Samples(
        bad="""\
import keras
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1, kernel_initializer="ones")

    @tf.function
    def call(self, x):
        return self.dense(x)  # TR316


model = Model()
model.compile("sgd", "mse")
model.fit(tf.ones([4, 3]), tf.ones([4, 1]), verbose=0)
""",
        good="""\
import keras
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)


model = Model()
model.compile("sgd", "mse")
model.fit(tf.ones([4, 3]), tf.ones([4, 1]), verbose=0)
""",
        near_miss="""\
import keras
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1, kernel_initializer="ones")

    def build(self, shape):
        self.dense.build(shape)

    @tf.function
    def call(self, x):
        return self.dense(x)


model = Model()
model.compile("sgd", "mse")
model.fit(tf.ones([4, 3]), tf.ones([4, 1]), verbose=0)
""",
    ),
    cure="Remove the decorator from `call`; put it on a training step or an inference function of your own.",
    check=check,
)
