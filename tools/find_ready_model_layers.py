"""Writes `terra_refactor/tf_model/keras/ready_models.json.gz`: the feature maps in the models of `keras.applications`.

Computes: for each layer with a feature map as output, its channels and how its height follows from the image's: for an
image of height 32*k, it is a*k + b. Layers whose name Keras numbers (`conv2d_7`), or whose height is no such sum, are
left out. Needs: Keras; builds each model twice, which takes some minutes.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras

TARGET = Path(__file__).resolve().parent.parent / "terra_refactor" / "tf_model" / "keras" / "ready_models.json.gz"
MODELS = (
    *("VGG16", "VGG19", "ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2"),
    *("DenseNet121", "DenseNet169", "DenseNet201", "MobileNet", "MobileNetV2"),
    *(f"EfficientNetB{number}" for number in range(8)),
    *("InceptionV3", "InceptionResNetV2", "Xception"),
)
IMAGE_RANK = 4
MULTIPLES = range(3, 9)


def layers_of(name: str) -> dict[str, tuple[int, int, int]]:
    """By name of layer: a, b, channels."""
    constructor = getattr(keras.applications, name)
    first, second = (constructor(include_top=False, weights=None, input_shape=(None, None, 3)) for _ in range(2))
    names = [layer.name for layer in first.layers[1:]]
    again = {layer.name for layer in second.layers}
    everything = keras.Model(first.input, [first.get_layer(each).output for each in names])
    shapes: list[list[Any]] = [
        everything.compute_output_shape((None, 32 * multiple, 32 * multiple, 3)) for multiple in MULTIPLES
    ]
    found: dict[str, tuple[int, int, int]] = {}
    for position, layer in enumerate(names):
        outputs = [shape[position] for shape in shapes]
        if layer not in again or any(len(shape) != IMAGE_RANK for shape in outputs):
            continue
        heights = [shape[1] for shape in outputs]
        slope = heights[1] - heights[0]
        start = heights[0] - slope * MULTIPLES[0]
        if all(height == slope * k + start for height, k in zip(heights, MULTIPLES, strict=True)):
            found[layer] = (slope, start, outputs[0][3])
    return found


def main() -> None:
    table = {}
    for name in MODELS:
        table[name] = layers_of(name)
        keras.backend.clear_session()
        print(name, len(table[name]), flush=True)
    text = json.dumps({"keras": keras.__version__, "models": table}, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(TARGET, TARGET.stat().st_size)


if __name__ == "__main__":
    main()
