"""Weights that layers build, `add_weight`, inputs, and calls of functional and sequential models, against Keras."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from analysis_support import analyze_files

from terra_refactor.domain.dim import symbol
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import Constant, FrozenList, Reference, TensorKind, TensorValue, Value
from terra_refactor.tf_model.catalogue import value_of
from terra_refactor.tf_model.keras import RULES, WEIGHTS
from terra_refactor.tf_model.keras.layer_call import Settings
from terra_refactor.tf_model.spec import BoundCall
from tests.conformance.keras_calls import configuration

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

FLOAT = DType("float32")

BUILT: tuple[tuple[str, Mapping[str, Any], tuple[int, ...]], ...] = (
    ("Dense", {"units": 4}, (2, 3)),
    ("Dense", {"units": 4, "use_bias": False}, (2, 5, 3)),
    ("Embedding", {"input_dim": 7, "output_dim": 3}, (2, 3)),
    ("Conv1D", {"filters": 4, "kernel_size": 3}, (2, 8, 3)),
    ("Conv2D", {"filters": 4, "kernel_size": (3, 2)}, (2, 8, 8, 6)),
    ("Conv2D", {"filters": 4, "kernel_size": 3, "groups": 2}, (2, 8, 8, 6)),
    ("Conv3D", {"filters": 4, "kernel_size": 2}, (2, 4, 4, 4, 2)),
    ("Conv2DTranspose", {"filters": 5, "kernel_size": 3}, (2, 8, 8, 6)),
    ("DepthwiseConv2D", {"kernel_size": 3, "depth_multiplier": 2}, (2, 8, 8, 3)),
    ("SeparableConv2D", {"filters": 5, "kernel_size": 3}, (2, 8, 8, 3)),
    ("BatchNormalization", {}, (2, 8, 3)),
    ("BatchNormalization", {"axis": 1, "scale": False}, (2, 8, 3)),
    ("LayerNormalization", {}, (2, 8, 3)),
    ("LayerNormalization", {"axis": (1, 2)}, (2, 8, 3)),
    ("GroupNormalization", {"groups": 2}, (2, 8, 4)),
    ("SimpleRNNCell", {"units": 5}, (2, 3)),
    ("GRUCell", {"units": 5}, (2, 3)),
    ("GRUCell", {"units": 5, "reset_after": False}, (2, 3)),
    ("LSTMCell", {"units": 5}, (2, 3)),
)


@pytest.mark.parametrize(("name", "settings", "shape"), BUILT, ids=lambda item: item if isinstance(item, str) else None)
def test_weights(name: str, settings: Mapping[str, Any], shape: tuple[int, ...]) -> None:
    constructor = getattr(keras.layers, name)
    layer = constructor(**settings)
    layer.build(shape)
    ours = WEIGHTS[f"keras.layers.{name}"](Settings(configuration(constructor, settings)), TensorType(FLOAT, shape))
    assert len(ours) == len(layer.weights)
    for attribute, weight in ours.items():
        real = getattr(layer, attribute)
        assert weight == TensorType(DType(real.dtype), tuple(real.shape)), attribute


def test_every_weights_rule_is_compared() -> None:
    rank_families = ("Conv1DTranspose", "Conv3DTranspose", "DepthwiseConv1D", "SeparableConv1D")
    compared = {f"keras.layers.{name}" for name, _, _ in BUILT} | {f"keras.layers.{name}" for name in rank_families}
    assert set(WEIGHTS) == compared


def bound(name: str, **arguments: Any) -> BoundCall:
    """A call by parameter names."""
    values = {key: value if isinstance(value, VALUES) else value_of(value) for key, value in arguments.items()}
    return BoundCall(name, {key: value for key, value in values.items() if value is not None})


VALUES = (TensorValue, Constant, FrozenList, Reference)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": (3, 4)},
        {"shape": (None, 4), "dtype": "int32"},
        {"shape": (3,), "batch_size": 8},
        {"batch_shape": (None, 3)},
        {"batch_shape": (4, None, 3)},
        {"shape": ()},
    ],
)
def test_input(arguments: Mapping[str, Any]) -> None:
    real = keras.Input(**arguments)
    ours = RULES["keras.Input"](bound("keras.Input", **arguments))
    assert isinstance(ours, TensorValue) and ours.kind is TensorKind.KERAS and ours.type.shape is not None
    assert ours.type.dtype == real.dtype
    assert tuple(dim if isinstance(dim, int) else None for dim in ours.type.shape) == tuple(real.shape)


class WithWeights(keras.layers.Layer):
    """A layer that makes one weight, in any way."""

    def __init__(self, make: Callable[[keras.layers.Layer], Any]) -> None:
        super().__init__()
        self.made = make(self)


@pytest.mark.parametrize(
    ("positional", "keywords"),
    [
        ((), {"shape": (3, 4)}),
        (((3, 4),), {}),
        (((3,), "zeros"), {}),
        ((), {}),
        ((), {"shape": (2,), "dtype": "int32", "initializer": "zeros"}),
    ],
)
def test_add_weight(positional: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    real = WithWeights(lambda layer: layer.add_weight(*positional, **keywords)).made
    name = "keras.layers.Layer.add_weight"
    whole = TensorValue(TensorType(DType(real.dtype), tuple(real.shape)), TensorKind.VARIABLE)
    values = tuple(value for value in map(value_of, positional) if value is not None)
    by_name = bound(name, **keywords)
    assert RULES[name](dataclasses.replace(by_name, extra_arguments=values)) == whole
    # Keras before 3.15 names its positional parameters
    given = {**dict(zip(("shape", "initializer"), positional, strict=False)), **keywords}
    ours = RULES[name](bound(name, **given))
    assert ours == whole


def test_add_weight_in_the_order_of_keras_2() -> None:
    name = "keras.layers.Layer.add_weight"
    whole = TensorValue(TensorType(DType("int64"), (3, 4)), TensorKind.VARIABLE)
    assert RULES[name](bound(name, shape="w", initializer=(3, 4), dtype="int64")) == whole
    values = tuple(value for value in map(value_of, ("w", (3, 4), "int64")) if value is not None)
    assert RULES[name](BoundCall(name, {}, extra_arguments=values)) == whole
    later = BoundCall(name, {"shape": values[1], "dtype": values[2]}, extra_arguments=values[:1])
    assert RULES[name](later) == whole
    mixed = BoundCall(
        name, {"shape": Constant("w"), "dtype": Constant("int64")}, extra_keywords={"shape": value_of((3, 4))}
    )  # type: ignore[dict-item]
    assert RULES[name](mixed) == whole


def layers_of(*layers: tuple[str, Mapping[str, Any]]) -> tuple[list[Value], Any, list[Any]]:
    """References to layers, what calling them gives by our rules, and the layers themselves."""
    references: list[Value] = [Reference(number) for number in range(len(layers))]

    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        assert isinstance(function, Reference)
        name, settings = layers[function.object]
        constructor = getattr(keras.layers, name)
        rule = f"keras.layers.{name}.__call__"
        call = BoundCall(rule, {}, extra_arguments=tuple(arguments), configuration=configuration(constructor, settings))
        return RULES[rule](call)

    return references, invoke, [getattr(keras.layers, name)(**settings) for name, settings in layers]


def test_sequential_and_functional_calls() -> None:
    references, invoke, layers = layers_of(
        ("Conv2D", {"filters": 4, "kernel_size": 3, "strides": 2}), ("Flatten", {}), ("Dense", {"units": 5})
    )
    value = TensorValue(TensorType(FLOAT, (6, 9, 9, 2)))
    call = BoundCall(
        "keras.Sequential.__call__",
        {},
        (value,),
        configuration={"layers": FrozenList(tuple(references))},
        invoke=invoke,
    )
    ours = RULES["keras.Sequential.__call__"](call)
    real = keras.Sequential(layers)(tf.zeros((6, 9, 9, 2)))
    assert isinstance(ours, TensorValue) and ours.type == TensorType(FLOAT, tuple(real.shape))

    start = RULES["keras.Input"](bound("keras.Input", shape=(9, 9, 2)))
    end = start
    for reference in references:
        end = invoke(reference, [end])
    settings = {"inputs": start, "outputs": end}
    called = RULES["keras.Model.__call__"](BoundCall("keras.Model.__call__", {}, (value,), configuration=settings))
    assert called == ours
    other = TensorValue(TensorType(FLOAT, (symbol("m"), 9, 9, 2)))
    called = RULES["keras.Model.__call__"](BoundCall("keras.Model.__call__", {}, (other,), configuration=settings))
    assert isinstance(called, TensorValue) and called.type.shape == (symbol("m"), 5)


def test_predict_gives_arrays() -> None:
    references, invoke, layers = layers_of(("Dense", {"units": 5}))
    value = TensorValue(TensorType(FLOAT, (9, 3)), TensorKind.NDARRAY)
    call = BoundCall("keras.Model.predict", {"x": value}, receiver=references[0], invoke=invoke)
    ours = RULES["keras.Model.predict"](call)
    real = keras.Sequential(layers).predict(np.zeros((9, 3), "float32"), verbose=0)
    assert ours == TensorValue(TensorType(DType(real.dtype.name), real.shape), TensorKind.NDARRAY)


@pytest.mark.parametrize("merge", ["concat", "sum", None])
@pytest.mark.parametrize("flags", [{}, {"return_sequences": True}, {"return_state": True}])
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_bidirectional(merge: str | None, flags: Mapping[str, Any], name: str) -> None:
    references, invoke, layers = layers_of((name, {"units": 4, **flags}))
    value = TensorValue(TensorType(FLOAT, (2, 3, 5)))
    settings = {"layer": references[0], "merge_mode": Constant(merge)}
    rule = "keras.layers.Bidirectional.__call__"
    ours = RULES[rule](BoundCall(rule, {}, (value,), configuration=settings, invoke=invoke))
    real = keras.layers.Bidirectional(layers[0], merge_mode=merge)(tf.zeros((2, 3, 5)))
    found = [tuple(part.shape) for part in tf.nest.flatten(real)]
    parts = ours.elements if not isinstance(ours, TensorValue) else (ours,)  # type: ignore[union-attr]
    assert [part.type.shape for part in parts if isinstance(part, TensorValue)] == found


def test_time_distributed() -> None:
    references, invoke, layers = layers_of(("Conv2D", {"filters": 4, "kernel_size": 3}))
    rule = "keras.layers.TimeDistributed.__call__"
    value = TensorValue(TensorType(FLOAT, (2, 3, 8, 8, 1)))
    ours = RULES[rule](BoundCall(rule, {}, (value,), configuration={"layer": references[0]}, invoke=invoke))
    real = keras.layers.TimeDistributed(layers[0])(tf.zeros((2, 3, 8, 8, 1)))
    assert isinstance(ours, TensorValue) and ours.type == TensorType(FLOAT, tuple(real.shape))


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "SimpleRNNCell"])
def test_cells(name: str) -> None:
    cell = getattr(keras.layers, name)(4)
    count = 2 if name == "LSTMCell" else 1
    states = [tf.zeros((3, 4))] * count
    output, after = cell(tf.zeros((3, 5)), states)
    rule = f"keras.layers.{name}.__call__"
    given: tuple[Value, ...] = (
        TensorValue(TensorType(FLOAT, (3, 5))),
        FrozenList((TensorValue(TensorType(FLOAT, (3, 4))),) * count),
    )
    ours = RULES[rule](BoundCall(rule, {}, given, configuration=configuration(type(cell), {"units": 4})))
    first, rest = ours.elements  # type: ignore[union-attr, misc]
    assert isinstance(first, TensorValue) and first.type.shape == tuple(output.shape)
    assert isinstance(rest, FrozenList) and rest.elements is not None
    assert [item.type.shape for item in rest.elements if isinstance(item, TensorValue)] == [
        tuple(s.shape) for s in after
    ]


OWN_FUNCTIONS = """
import keras
import tensorflow as tf

def small(shape, dtype=None):
    SEEN.append(("shape", (shape, dtype)))
    return tf.random.uniform(shape, dtype=dtype) * 0.1

def rate(weights):
    SEEN.append(("weights", weights))
    return 0.01 * tf.reduce_sum(tf.square(weights))

class Positive(keras.constraints.Constraint):
    def __call__(self, w):
        SEEN.append(("w", w))
        return tf.maximum(w, 0.0)

class Scale(keras.layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 3), initializer=small, regularizer=rate, constraint=Positive())

    def call(self, x):
        return x @ self.w

layer = keras.layers.Dense(4, kernel_initializer=small, kernel_regularizer=rate, bias_constraint=Positive())
model = keras.Sequential([keras.Input((7,)), layer, Scale()])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
model.fit(tf.zeros([2, 7]), tf.zeros([2, 3]), verbose=0)
"""


def test_functions_for_weights_are_given_what_is_told() -> None:
    seen: list[tuple[str, Any]] = []
    exec(compile(OWN_FUNCTIONS, "program", "exec"), {"SEEN": seen})
    given = {"shape": set(), "weights": set(), "w": set()}
    for name, value in seen:
        given[name].add((tuple(value[0]), value[1]) if name == "shape" else (str(value.dtype), tuple(value.shape)))
    assert given["shape"] == {((7, 4), "float32"), ((4, 3), "float32")}
    found = analyze_files({"m.py": "SEEN = []\n" + OWN_FUNCTIONS})
    told = {
        parameter.name: {(str(entry.dtype), entry.shape) for entry in parameter.types}
        for decision in found.decisions
        for parameter in decision.parameters
    }
    assert (told["weights"], told["w"]) == (given["weights"], given["w"])
    (body,) = [
        facts for identity, facts in found.facts.functions.items() if found.program.function(identity).name == "small"
    ]
    assert sorted(str(value) for value in body.parameters[1].values) == ["Constant(value='float32')"]
