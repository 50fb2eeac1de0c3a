"""Losses, metrics, activations, initializers, `keras.ops` and `keras.utils` against Keras."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import keras
import numpy as np
import pytest
from hypothesis import strategies as st

from terra_refactor.domain.dim import eager
from terra_refactor.domain.dtype import FLOAT32, INT64
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    DatasetValue,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.catalogue import value_of
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, OperationRule
from tests.conformance.harness import (
    FLOATS,
    NUMBERS,
    Call,
    Row,
    Spec,
    broadcastable,
    calls,
    check_row,
    row_id,
    shapes,
    specs,
)

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

PROMOTION = "Keras promotes mixed and integer dtypes by a table of its own"
RANKS = "what Keras does with ranks that it does not know is not modelled"


def configured(name: str, settings: Mapping[str, Any], constructor: Any) -> OperationRule:
    """The rule of a method, for an instance that was made with these settings."""
    entity = lookup(name)
    assert entity is not None and entity.rule is not None, name
    rule = entity.rule
    defaults = {key: parameter.default for key, parameter in inspect.signature(constructor).parameters.items()}
    known = {key: value_of(settings.get(key, default)) for key, default in {**defaults, **settings}.items()}
    configuration = {key: value for key, value in known.items() if value is not None}
    return lambda call: rule(dataclasses.replace(call, configuration=configuration))


@st.composite
def labelled(draw: st.DrawFn, sparse: bool = False) -> Call:
    """Predictions with labels that mostly fit."""
    shape = draw(shapes(min_rank=1, max_rank=3))
    labels = shape[:-1] if sparse else shape
    kind = draw(st.integers(0, 7))
    if kind == 0:
        labels = (*labels, 1)
    elif kind == 1:
        labels = draw(shapes(max_rank=3))
    elif kind == 2 and len(labels) > 1:
        labels = labels[:-1]
    visible: Any = draw(st.sampled_from([labels, labels, None, (None,) * len(labels)]))
    dtype = draw(st.sampled_from(["int32", "int64"] if sparse else ["float32"]))
    return Call({"y_true": Spec(dtype, labels, visible), "y_pred": draw(specs(shape, "float32"))})


def losses() -> list[Row]:
    rows: list[Row] = []
    broadcasting = (
        "MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredLogarithmicError Huber LogCosh KLDivergence Poisson "
        "Hinge SquaredHinge CategoricalHinge CosineSimilarity BinaryCrossentropy CategoricalCrossentropy SparseCategoricalCrossentropy"
    )
    functions = {
        "MeanSquaredError": "mean_squared_error",
        "MeanAbsoluteError": "mean_absolute_error",
        "Huber": "huber",
        "BinaryCrossentropy": "binary_crossentropy",
        "CategoricalCrossentropy": "categorical_crossentropy",
        "SparseCategoricalCrossentropy": "sparse_categorical_crossentropy",
    }
    for name in broadcasting.split():
        constructor = getattr(keras.losses, name)
        given = labelled(sparse=name.startswith("Sparse"))
        for reduction in ("sum_over_batch_size", "sum", None):
            settings = {"reduction": reduction}

            def call_loss(constructor: Any = constructor, reduction: Any = reduction, **arguments: Any) -> Any:
                return constructor(reduction=reduction)(**arguments)

            full = f"keras.losses.{name}.__call__"
            rows.append(
                Row(
                    full,
                    given,
                    RANKS,
                    "not every refusal is known",
                    call_loss,
                    configured(full, settings, constructor),
                    f"{name}-{reduction}",
                )
            )
        if name in functions:
            function = getattr(keras.losses, functions[name])
            rows.append(Row(f"keras.losses.{functions[name]}", given, RANKS, "not every refusal is known", function))
    return rows


def metrics() -> list[Row]:
    rows: list[Row] = []
    for name, settings in (
        ("Mean", {}),
        ("Sum", {}),
        ("Accuracy", {}),
        ("BinaryAccuracy", {}),
        ("MeanSquaredError", {}),
        ("Precision", {}),
        ("Recall", {"thresholds": [0.2, 0.5]}),
        ("AUC", {}),
        ("F1Score", {}),
        ("TruePositives", {}),
    ):
        constructor = getattr(keras.metrics, name)
        full = f"keras.metrics.{name}.result"

        def result(constructor: Any = constructor, settings: Any = settings) -> Any:
            metric = constructor(**settings)
            if type(metric).__name__ == "F1Score":
                metric.update_state(np.ones((2, 3), "float32"), np.ones((2, 3), "float32"))
            return metric.result()

        rows.append(Row(full, calls(), RANKS, "", result, configured(full, settings, constructor), name))
    return rows


def ops() -> list[Row]:
    rows: list[Row] = []

    def row(name: str, given: Any, owner: str = "ops", imprecise: str = PROMOTION) -> None:
        function = getattr(getattr(keras, owner), name)
        rows.append(Row(f"keras.{owner}.{name}", given, imprecise, "not every refusal is known", function))

    for name in [
        "exp",
        "sqrt",
        "tanh",
        "abs",
        "negative",
        "square",
        "sigmoid",
        "relu",
        "softmax",
        "isnan",
        "floor",
        "sign",
        "log1p",
        "silu",
    ]:
        row(name, calls(x=specs(dtypes=FLOATS)))
    pairs = st.tuples(broadcastable(), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
    two = pairs.flatmap(lambda item: calls(x1=specs(item[0][0], item[1]), x2=specs(item[0][1], item[2])))
    for name in ["add", "subtract", "multiply", "divide", "maximum", "equal", "less", "power", "logical_and"]:
        row(name, two)
    axis = st.sampled_from([None, 0, -1, 1, (0, 1)])
    for name in ["sum", "mean", "max", "min", "var", "std", "prod", "any"]:
        row(name, calls(x=specs(dtypes=FLOATS), axis=axis, keepdims=st.booleans()))
    row("argmax", calls(x=specs(dtypes=FLOATS), axis=st.sampled_from([None, 0, -1])))
    row("reshape", calls(x=specs(), newshape=st.sampled_from([(-1,), (-1, 2), (2, -1), (4,), (1, 2, -1)])))
    row("transpose", calls(x=specs(), axes=st.sampled_from([None, (1, 0), (0, 2, 1)])))
    row("expand_dims", calls(x=specs(), axis=st.sampled_from([0, -1, 1])))
    row("squeeze", calls(x=specs(), axis=st.sampled_from([None, 0, -1])))
    joined = shapes(min_rank=1, max_rank=3).flatmap(
        lambda shape: st.lists(specs(shape, "float32"), min_size=1, max_size=3)
    )
    row("concatenate", calls(xs=joined, axis=st.sampled_from([0, -1, 1])))
    row("stack", calls(x=joined, axis=st.sampled_from([0, -1, 1])))
    row("matmul", calls(x1=specs(shapes(1, 3)), x2=specs(shapes(1, 3))))
    row("cast", calls(x=specs(dtypes=NUMBERS), dtype=st.sampled_from(["float32", "int32", "bool"])))
    row("zeros", calls(shape=shapes(), dtype=st.sampled_from([None, "int32"])))
    row("ones_like", calls(x=specs(dtypes=NUMBERS)))
    row("one_hot", calls(x=specs(dtypes="int32"), num_classes=5))
    row("take", calls(x=specs(shapes(1, 3)), indices=specs(shapes(0, 2), "int32"), axis=st.sampled_from([None, 0, -1])))
    row("repeat", calls(x=specs(shapes(1, 3)), repeats=st.integers(1, 3), axis=st.sampled_from([0, -1])))
    row("tile", calls(x=specs(shapes(1, 3)), repeats=st.sampled_from([(2,), (1, 2), (2, 1, 1)])))
    row("split", calls(x=specs(shapes(1, 3)), indices_or_sections=st.integers(1, 3), axis=st.sampled_from([0, -1])))
    row("broadcast_to", calls(x=specs((1,)), shape=st.sampled_from([(3,), (2, 3)])))
    row("size", calls(x=specs()))
    row("clip", calls(x=specs(), x_min=0.0, x_max=1.0))
    for name in ["relu", "sigmoid", "tanh", "softmax", "gelu", "elu", "selu", "softplus", "linear", "swish"]:
        row("silu" if name == "swish" else name, calls(x=specs(shapes(1, 3), "float32")), "activations", RANKS)
    return rows


ROWS = [*losses(), *metrics(), *ops()]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_function(row: Row) -> None:
    check_row(row)


@pytest.mark.parametrize(
    "name", ["GlorotUniform", "Zeros", "HeNormal", "RandomNormal", "Orthogonal", "TruncatedNormal"]
)
def test_initializer(name: str) -> None:
    entity = lookup(f"keras.initializers.{name}.__call__")
    assert entity is not None and entity.rule is not None
    initializer = getattr(keras.initializers, name)()
    for shape, dtype in (((3, 4), None), ((2, 3, 4), "float64"), ((5, 1), "float16")):
        arguments = {"shape": value_of(shape), "dtype": value_of(dtype)}
        ours = entity.rule(
            BoundCall(entity.name, {key: value for key, value in arguments.items() if value is not None})
        )
        if name == "Orthogonal" and dtype == "float16":
            continue  # no QR decomposition of float16
        real = initializer(shape, dtype=dtype)
        assert isinstance(ours, TensorValue)
        assert (ours.type.shape, ours.type.dtype) == (tuple(real.shape), real.dtype.name)


def _rule(name: str) -> Callable[[BoundCall], Value]:
    entity = lookup(name)
    assert entity is not None and entity.rule is not None, name
    return entity.rule


@pytest.mark.parametrize(("shape", "classes"), [((4,), 3), ((4, 1), 3), ((2, 3), 5), ((4,), None)])
def test_to_categorical(shape: tuple[int, ...], classes: int | None) -> None:
    labels = np.zeros(shape, "int64")
    real = keras.utils.to_categorical(labels, classes)
    value = TensorValue(TensorType(None, shape), TensorKind.NDARRAY)
    given = {"x": value, "num_classes": value_of(classes)}
    ours = _rule("keras.utils.to_categorical")(BoundCall("", {k: v for k, v in given.items() if v is not None}))
    assert isinstance(ours, TensorValue) and ours.type.shape is not None
    assert len(ours.type.shape) == real.ndim
    assert all(a is None or a == b for a, b in zip(ours.type.shape, real.shape, strict=True))
    assert ours.type.shape[-1] == classes
    assert ours.type.dtype == real.dtype.name


@pytest.mark.parametrize("longest", [None, 2, 5])
def test_pad_sequences(longest: int | None) -> None:
    sequences = [[1], [2, 3], [4, 5, 6]]
    real = keras.utils.pad_sequences(sequences, maxlen=longest)
    given = {"sequences": value_of(sequences), "maxlen": value_of(longest)}
    ours = _rule("keras.utils.pad_sequences")(BoundCall("", {k: v for k, v in given.items() if v is not None}))
    assert isinstance(ours, TensorValue)
    assert ours.type.dtype == real.dtype.name
    assert ours.type.shape == real.shape == (3, longest or 3)


@pytest.mark.parametrize(
    "vectors", [[[[1, 2]], [[3, 4], [5, 6]]], [np.zeros((2, 3)), np.zeros((4, 3))]], ids=["lists", "arrays"]
)
def test_pad_sequences_of_vectors(vectors: list[Any]) -> None:
    assert keras.utils.pad_sequences(vectors, maxlen=4).ndim == 3
    rule = _rule("keras.utils.pad_sequences")
    for sequences in (value_of(vectors), FrozenList((UNKNOWN, UNKNOWN)), UNKNOWN):
        ours = rule(BoundCall("", {"sequences": sequences, "maxlen": Constant(4)}))
        assert not isinstance(ours, TensorValue) or ours.type.shape is None


def test_pad_sequences_of_numbers_of_unknown_count() -> None:
    numbers = FrozenList(None, Constant(1))
    array = TensorValue(TensorType(None, (None,)), TensorKind.NDARRAY)
    rule = _rule("keras.utils.pad_sequences")
    for sequences, count in (
        (FrozenList((numbers, array)), 2),
        (FrozenList(None, numbers), None),
        (FrozenList(None, numbers, 7), 7),
    ):
        ours = rule(BoundCall("", {"sequences": sequences, "maxlen": Constant(4)}))
        assert isinstance(ours, TensorValue) and ours.type.shape == (count, 4)
    assert keras.utils.pad_sequences([[1, 2], np.zeros(3)], maxlen=4).shape == (2, 4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sequence_stride": 3},
        {"sampling_rate": 2, "batch_size": 3},
        {"start_index": 3, "end_index": 17, "batch_size": 5},
        {"targets": None},
        {"targets": None, "batch_size": None},
        {"sequence_length": 1, "sequence_stride": 2, "batch_size": 10},
        {"targets": 9},
        {"batch_size": 4, "sequence_length": 5},
        {"sequence_length": 19, "targets": None},
    ],
)
def test_timeseries_dataset(settings: Mapping[str, Any]) -> None:
    given: dict[str, Any] = {"sequence_length": 5, "batch_size": 4, "targets": 20, **settings}
    count = given.pop("targets")
    data = np.zeros((20, 2), "float32")
    targets = None if count is None else np.zeros((count,), "int64")
    real = keras.utils.timeseries_dataset_from_array(data, targets, **given)
    defaults = {"sequence_stride": 1, "sampling_rate": 1, "start_index": None, "end_index": None}
    arguments = {name: value_of(value) for name, value in {**defaults, **given}.items()}
    arguments["data"] = TensorValue(TensorType(FLOAT32, (20, 2)), TensorKind.NDARRAY)
    own = Constant(None) if targets is None else TensorValue(TensorType(INT64, targets.shape), TensorKind.NDARRAY)
    ours = _rule("keras.utils.timeseries_dataset_from_array")(
        BoundCall("", {**{name: value for name, value in arguments.items() if value is not None}, "targets": own})
    )
    assert isinstance(ours, DatasetValue) and ours.cardinality == int(real.cardinality())
    batches = [batch if isinstance(batch, tuple) else (batch,) for batch in real]
    for position, batch in enumerate(batches):
        told = ours.element
        if ours.lead is not None and position < ours.lead[1]:
            told = ours.lead[0]
        elif ours.last is not None and position == len(batches) - 1:
            told = ours.last
        items = told.elements if isinstance(told, TupleValue) else (told,)
        for part, item in zip(batch, items, strict=True):
            assert isinstance(item, TensorValue) and item.type.dtype == part.dtype.name and item.type.shape is not None
            assert tuple(map(eager, item.type.shape)) == tuple(part.shape)


@pytest.mark.parametrize("rank", range(6))
def test_ranks_of_images(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of another rank is refused; PIL, which need not be there, is not reached before that."""
    array = np.zeros((3,) * rank, "float32")
    module = importlib.import_module("keras.src.utils.image_utils")
    monkeypatch.setattr(module, "pil_image", mock.MagicMock())
    functions = {
        "keras.utils.img_to_array": ("img", lambda: keras.utils.img_to_array(array)),
        "keras.utils.array_to_img": ("x", lambda: keras.utils.array_to_img(array)),
        "keras.utils.save_img": ("x", lambda: keras.utils.save_img("image.png", array)),
    }
    for name, (parameter, real) in functions.items():
        entity = lookup(name)
        assert entity is not None and entity.rule is not None
        arguments: dict[str, Value] = {
            parameter: TensorValue(TensorType(FLOAT32, array.shape), TensorKind.NDARRAY),
            "dtype": Constant(None),
        }
        with contextlib.ExitStack() as refused:
            try:
                real()
            except ValueError:
                refused.enter_context(pytest.raises(OperationError))
            entity.rule(BoundCall(name, arguments))
        unknown = {**arguments, parameter: TensorValue(TensorType(FLOAT32, None), TensorKind.NDARRAY)}
        entity.rule(BoundCall(name, unknown))
