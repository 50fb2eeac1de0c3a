"""The models of `keras.applications`: their inputs, outputs and feature maps.

Computes: the configuration of the functional model that `keras.applications.ResNet50(...)` returns, and the output of
one of its layers, by name. Gives: `ready_model`, `output_of_layer`.
Ignores: layers without a feature map, and sizes of feature maps unless the image's sizes are multiples of the stride.
Source: Keras 3.15; `tests/conformance/test_ready_models.py` builds the small ones. The layers are in
`ready_models.json.gz`, written by tools/find_ready_model_layers.py.
"""

from __future__ import annotations

import gzip
import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOAT32
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import Constant, TensorKind, TensorValue, Value
from terra_refactor.errors import InternalError
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.models import BATCH

_STRIDE: Final = 32
_IMAGE_RANK: Final = 3

_OF_THIRTY_SECONDS: Final = {
    "VGG16": 512,
    "VGG19": 512,
    **dict.fromkeys(("ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2"), 2048),
    "DenseNet121": 1024,
    "DenseNet169": 1664,
    "DenseNet201": 1920,
    "MobileNet": 1024,
    "MobileNetV2": 1280,
    "EfficientNetB0": 1280,
    "EfficientNetB1": 1280,
    "EfficientNetB2": 1408,
    "EfficientNetB3": 1536,
    "EfficientNetB4": 1792,
    "EfficientNetB5": 2048,
    "EfficientNetB6": 2304,
    "EfficientNetB7": 2560,
}
"""Channels of the features, whose map has a 32nd of the image's height and width."""
_OTHERS: Final = {"InceptionV3": 2048, "InceptionResNetV2": 1536, "Xception": 2048}
"""Channels of the features, whose map has other sizes."""

_OWN_SIZE: Final = {
    "InceptionV3": 299,
    "InceptionResNetV2": 299,
    "Xception": 299,
    "EfficientNetB1": 240,
    "EfficientNetB2": 260,
    "EfficientNetB3": 300,
    "EfficientNetB4": 380,
    "EfficientNetB5": 456,
    "EfficientNetB6": 528,
    "EfficientNetB7": 600,
}
_USUAL_SIZE: Final = 224
"""Height and width of the image if the model classifies it and no shape is given."""
_NAME: Final = "ready model"
_WIDTH: Final = "alpha"
"""In the configuration of a model: its name, and the factor of its width."""


def ready_model(name: str, given: Mapping[str, Value]) -> dict[str, Value] | None:
    """The inputs and outputs of a model by the name of its function; None for other functions, or if they are unknown."""
    package, _, model = name.rpartition(".")
    channels = _OF_THIRTY_SECONDS.get(model, _OTHERS.get(model))
    top = given.get("include_top", Constant(True))
    if package != "keras.applications" or channels is None or (has_top := read.truth(top)) is None:
        return None
    own_input = given.get("input_tensor")
    image = _image(model, given.get("input_shape"), has_top=has_top)
    inputs = TensorValue(read.tensor(FLOAT32, (BATCH, *image), TensorKind.KERAS).type, TensorKind.KERAS)
    if own_input is not None and not read.is_none(own_input):
        if not isinstance(own_input, TensorValue) or own_input.kind is not TensorKind.KERAS:
            return None
        inputs = own_input
    shape = inputs.type.shape
    batch, sizes = (None, image) if not shape or len(shape) != _IMAGE_RANK + 1 else (shape[0], shape[1:])
    outputs = _outputs(model, given, channels, sizes, has_top=has_top)
    whole = None if outputs is None else (batch, *outputs)
    return {
        "inputs": inputs,
        "outputs": TensorValue(read.tensor(FLOAT32, whole).type, TensorKind.KERAS),
        _NAME: Constant(model),
        _WIDTH: given.get(_WIDTH, Constant(1.0)),
    }


def output_of_layer(configuration: Mapping[str, Value], layer: str) -> TensorValue | None:
    """`model.get_layer(layer).output` of a ready model, by its configuration; None if unknown."""
    model, inputs = read.text(configuration.get(_NAME)), configuration.get("inputs")
    found = None if model is None else _layers().get(model, {}).get(layer)
    if model is None or found is None or not isinstance(inputs, TensorValue):
        return None
    slope, start, channels = found
    shape = inputs.type.shape
    batch, image = (shape[0], shape[1:3]) if shape and len(shape) == _IMAGE_RANK + 1 else (None, (None, None))
    sizes = [_size(size, slope, start, only_whole=model in _OTHERS) for size in image]
    is_as_declared = read.number(configuration.get(_WIDTH)) == 1
    width = channels if is_as_declared or not model.startswith("MobileNet") else None
    return TensorValue(read.tensor(FLOAT32, (batch, *sizes, width)).type, TensorKind.KERAS)


def _size(size: Dim, slope: int, start: int, *, only_whole: bool) -> Dim:
    """The height of a feature map: `slope * k + start` for an image of height `32 * k`."""
    if slope == 0:
        return start
    if not isinstance(size, int):
        return None
    if size % _STRIDE == 0:
        return size // _STRIDE * slope + start
    is_strided = not only_whole and start == 0 and size * slope % _STRIDE == 0
    return size * slope // _STRIDE if is_strided else None


@cache
def _layers() -> Mapping[str, Mapping[str, tuple[int, int, int]]]:
    """By model and layer: the two numbers of the height, and the channels."""
    packed = pkgutil.get_data("terra_refactor.tf_model.keras", "ready_models.json.gz")
    if packed is None:
        raise InternalError("ready_models.json.gz is missing; run tools/find_ready_model_layers.py")
    models: dict[str, dict[str, tuple[int, int, int]]] = json.loads(gzip.decompress(packed))["models"]
    return models


def _image(model: str, given: Value | None, *, has_top: bool) -> tuple[Dim, ...]:
    if given is None or read.is_none(given):
        size = _OWN_SIZE.get(model, _USUAL_SIZE) if has_top else None
        return size, size, 3
    shape = read.shape_argument(given)
    return (None, None, None) if shape is None or len(shape) != _IMAGE_RANK else shape


def _outputs(model: str, given: Mapping[str, Value], channels: int, image: tuple[Dim, ...], *, has_top: bool) -> Shape:
    """The output's shape, without the batch."""
    if has_top:
        classes = given.get("classes")
        return (1000 if classes is None else read.size(classes),)
    width = _width(model, given.get("alpha"), channels)
    pooling = given.get("pooling")
    if pooling is not None and not read.is_none(pooling):
        return (width,) if read.text(pooling) in ("avg", "max") else None
    sizes = [
        size // _STRIDE if isinstance(size, int) and size % _STRIDE == 0 and model in _OF_THIRTY_SECONDS else None
        for size in image[:2]
    ]
    return (*sizes, width)


def _width(model: str, alpha: Value | None, channels: int) -> Dim:
    """The channels, of models with a factor of their width also for other factors."""
    if alpha is None or not model.startswith("MobileNet"):
        return channels
    factor = read.number(alpha)
    if factor is None:
        return None
    if model == "MobileNetV2":
        return channels if factor <= 1 else None
    return int(channels * factor)
