"""TR311: building a Keras model inside a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import TensorKind, TensorValue
from terra_refactor.facts.records import AttributeRead, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.releases import MODELS_KEEP_SYMBOLS_OUT


def check(view: ContextView) -> Iterator[LocalHazard]:
    for read in view.reached(NameRead, AttributeRead):
        if not view.any_of(read.op, lambda each: isinstance(each, TensorValue) and each.kind is TensorKind.KERAS):
            continue
        parameter = view.parameter_behind(read.op)
        if parameter is not None or view.is_captured(read.op):
            # one that is made during the trace is fine there
            yield LocalHazard(
                read.op,
                f"`{view.written(read.op)}` is a KerasTensor (a model is built with it), which a traced function refuses",
                parameter=parameter,
            )
            return


RULE: Final = Rule(
    id="TR311",
    name="keras-symbolic-argument",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A KerasTensor (functional model building) in a `tf.function` raises.",
    explanation=(
        "`keras.Input` gives a placeholder of Keras's own. Layers accept it; traced functions raise `ValueError: A KerasTensor is "
        "symbolic: it's a placeholder for a shape an a dtype`; TensorFlow's operations raise `A KerasTensor cannot be used as input to a "
        "TensorFlow function`."
    ),
    samples=Samples(
        bad="""\
import keras
import tensorflow as tf

dense = keras.layers.Dense(2)


@tf.function
def head(x):
    return dense(x)  # TR311


model = keras.Model(inputs := keras.Input([3]), head(inputs))
""",
        good="""\
import keras
import tensorflow as tf

inputs = keras.Input([3])
model = keras.Model(inputs, keras.layers.Dense(2, kernel_initializer="ones")(inputs))


@tf.function
def predict(x):
    return model(x)


result = predict(tf.ones([2, 3]))
""",
    ),
    cure="Build models outside of traced functions.",
    check=check,
    of_set_up=True,
    since=MODELS_KEEP_SYMBOLS_OUT,
)
