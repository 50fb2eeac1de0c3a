"""TR311: building a Keras model inside a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from terra_refactor.analysis.facts import ParameterFacts
from terra_refactor.domain.value import (
    BOTTOM,
    FrozenDict,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.records import AttributeRead, Fact, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.releases import MODELS_KEEP_SYMBOLS_OUT

_DESCRIBING: Final = frozenset({"dtype", "name", "ndim", "shape"})
"""Attributes of a KerasTensor that are Python values."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    # what other calls pass does not get into the graph of a caller, such as that of `fit`
    is_callers_graph = view.context.in_graph and view.function_facts.hybrid is None
    parameters = () if is_callers_graph else view.function_facts.parameters
    holding = view.codes.once((check, view.function.id, is_callers_graph), partial(_holding, parameters))
    described = {read.owner for read in view.reached(AttributeRead) if read.name in _DESCRIBING}
    for read in view.reached(NameRead, AttributeRead):
        if view.any_of(read.op, _is_keras_tensor):
            what = "is a KerasTensor"
        elif holding and isinstance(read, NameRead) and view.parameter_behind(read.op) in holding:
            what = "holds KerasTensors"
        else:
            continue
        parameter = view.parameter_behind(read.op) or _given_symbolic(view, read)
        if parameter is not None or (view.is_captured(read.op) and read.op not in described):
            # one created during the trace works there, and so does the shape of any
            yield LocalHazard(
                read.op,
                f"`{view.written(read.op)}` {what} (a model is built with it), which a traced function rejects",
                parameter=parameter,
            )
            return


def _given_symbolic(view: ContextView, read: Fact) -> str | None:
    """The parameter that is read, if its argument is a KerasTensor: a loop may bind it to results of layers as well."""
    if not isinstance(read, NameRead) or not read.is_local:
        return None
    given = members(view.context.parameters.get(read.name, BOTTOM))
    return read.name if any(map(_is_keras_tensor, given)) else None


def _holding(parameters: Iterable[ParameterFacts]) -> frozenset[str]:
    """The parameters for which a call passes a list, tuple or dict that contains a KerasTensor."""
    return frozenset(each.name for each in parameters if any(map(_holds_one, each.values)))


def _is_keras_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.KERAS


def _holds_one(value: Value) -> bool:
    """Whether it may be a list, tuple or dict that contains a KerasTensor."""
    return any(_is_keras_tensor(part) or _holds_one(part) for whole in members(value) for part in _parts(whole))


def _parts(value: Value) -> Iterator[Value]:
    match value:
        case FrozenList(elements=elements, element=element):
            found = (*(elements or ()), *(() if element is None else (element,)))
        case TupleValue(elements=elements):
            found = tuple(elements)
        case FrozenDict(items=items, rest=rest):
            found = (*(each for _, each in items), *(() if rest is None else (rest,)))
        case _:
            return
    for each in found:
        yield from members(each)


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
