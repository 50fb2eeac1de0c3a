"""Inputs and outputs of models of `keras.applications`, against Keras. Without the largest, whose rows are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import pytest

from terra_refactor.domain.value import Constant, TensorValue, TupleValue, Value
from terra_refactor.tf_model.keras.models import BATCH
from terra_refactor.tf_model.keras.ready_models import output_of_layer, ready_model

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

MODELS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("MobileNet", {"include_top": False, "input_shape": (64, 32, 3)}),
    ("MobileNet", {"include_top": False, "input_shape": (64, 32, 3), "alpha": 0.25, "pooling": "max"}),
    ("MobileNet", {"input_shape": (96, 96, 3), "classes": 7, "alpha": 0.5}),
    ("MobileNetV2", {"include_top": False, "input_shape": (64, 32, 3), "alpha": 0.35}),
    ("MobileNetV2", {"include_top": False, "pooling": "avg", "alpha": 0.5}),
    ("VGG16", {"include_top": False, "input_shape": (32, 64, 3)}),
    ("EfficientNetB0", {"include_top": False, "input_shape": (32, 64, 3)}),
    ("MobileNetV2", {}),
    ("EfficientNetB1", {"classes": 3}),
    ("InceptionV3", {"classes": 3}),
)
LAYERS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("MobileNet", {"include_top": False, "input_shape": (48, 80, 3)}),
    ("MobileNet", {"include_top": False, "input_shape": (64, 64, 3), "alpha": 0.5}),
    ("MobileNetV2", {}),
    ("VGG16", {"include_top": False}),
    ("VGG16", {"include_top": False, "input_shape": (50, 40, 3)}),
    ("ResNet50V2", {"include_top": False, "input_shape": (40, 64, 3)}),
    ("EfficientNetB0", {"include_top": False, "input_shape": (36, 56, 3)}),
    ("Xception", {"include_top": False, "input_shape": (96, 128, 3)}),
)


def as_values(settings: Mapping[str, Any]) -> dict[str, Value]:
    return {
        key: TupleValue(tuple(map(Constant, value))) if isinstance(value, tuple) else Constant(value)
        for key, value in settings.items()
    }


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_inputs_and_outputs(name: str, settings: Mapping[str, Any]) -> None:
    found = ready_model(f"keras.applications.{name}", as_values(settings))
    made = getattr(keras.applications, name)(weights=None, **settings)
    assert found is not None
    for end, tensor in (("inputs", made.input), ("outputs", made.output)):
        value = found[end]
        assert isinstance(value, TensorValue) and value.type.dtype == tensor.dtype
        assert value.type.shape == (BATCH, *tensor.shape[1:])


@pytest.mark.parametrize(("name", "settings"), LAYERS)
def test_outputs_of_layers(name: str, settings: Mapping[str, Any]) -> None:
    configuration = ready_model(f"keras.applications.{name}", as_values(settings))
    assert configuration is not None
    known = whole = 0
    for layer in getattr(keras.applications, name)(weights=None, **settings).layers[1:]:
        found = output_of_layer(configuration, layer.name)
        if found is None:
            continue
        known += 1
        assert found.type.dtype == layer.output.dtype and found.type.shape is not None
        batch, *sizes = found.type.shape
        assert batch == BATCH and len(sizes) == len(layer.output.shape) - 1, layer.name
        pairs = list(zip(sizes, layer.output.shape[1:], strict=True))
        assert all(told in (None, real) for told, real in pairs), (layer.name, pairs)
        whole += all(told == real for told, real in pairs)
    assert known > 15 and (whole > 4 or "alpha" in settings)


def test_unknown_layers() -> None:
    configuration = ready_model("keras.applications.VGG16", {})
    assert configuration is not None
    assert output_of_layer(configuration, "fc1") is None
    assert output_of_layer(configuration, "block9_pool") is None
    assert output_of_layer({"inputs": configuration["inputs"]}, "block1_pool") is None


def test_unknown_settings() -> None:
    assert ready_model("keras.applications.VGG16", {"include_top": Constant("no")}) is None
    assert ready_model("keras.applications.NASNetMobile", {}) is None
    assert ready_model("keras.VGG16", {}) is None
