"""Inputs and outputs of models of `keras.applications`, against Keras. Without the largest, whose rows are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import pytest

from terra_refactor.domain.value import Constant, TensorValue, TupleValue
from terra_refactor.tf_model.keras.models import BATCH
from terra_refactor.tf_model.keras.ready_models import ready_model

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

MODELS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("MobileNet", {"include_top": False, "input_shape": (64, 32, 3)}),
    ("MobileNet", {"include_top": False, "input_shape": (64, 32, 3), "alpha": 0.25, "pooling": "max"}),
    ("MobileNet", {"input_shape": (96, 96, 3), "classes": 7, "alpha": 0.5}),
    ("MobileNetV2", {"include_top": False, "input_shape": (64, 32, 3), "alpha": 0.35}),
    ("MobileNetV2", {"include_top": False, "pooling": "avg", "alpha": 0.5}),
    ("VGG16", {"include_top": False, "input_shape": (32, 64, 3)}),
    ("EfficientNetB0", {"include_top": False, "input_shape": (32, 64, 3)}),
)


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_inputs_and_outputs(name: str, settings: Mapping[str, Any]) -> None:
    given = {
        key: TupleValue(tuple(map(Constant, value))) if isinstance(value, tuple) else Constant(value)
        for key, value in settings.items()
    }
    found = ready_model(f"keras.applications.{name}", given)
    made = getattr(keras.applications, name)(weights=None, **settings)
    assert found is not None
    for end, tensor in (("inputs", made.input), ("outputs", made.output)):
        value = found[end]
        assert isinstance(value, TensorValue) and value.type.dtype == tensor.dtype
        assert value.type.shape == (BATCH, *tensor.shape[1:])


def test_unknown_settings() -> None:
    assert ready_model("keras.applications.VGG16", {"include_top": Constant("no")}) is None
    assert ready_model("keras.applications.NASNetMobile", {}) is None
    assert ready_model("keras.VGG16", {}) is None
