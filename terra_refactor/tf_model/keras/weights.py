"""The weights that layers build: name, shape and dtype from a layer's settings and the type of its first input.

Computes: nothing. Gives: `WeightsRule` and `typed_weights`, with which the layer files write their tables `WEIGHTS`.
Ignores: weights of a second `build`, quantization, sharing between layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.tf_model.keras.layer_call import Settings

WeightsRule: TypeAlias = Callable[[Settings, TensorType], Mapping[str, TensorType]]
"""From a layer's settings and its input to its weights by attribute name, in the order of `layer.weights`."""


def typed_weights(shapes: Callable[[Settings, Shape], Mapping[str, Shape]]) -> WeightsRule:
    """A rule whose weights all have the layer's variable dtype; `bias` is left out for a layer without one."""

    def rule(settings: Settings, input_type: TensorType) -> Mapping[str, TensorType]:
        dtype = settings.variable_dtype()
        return {
            name: TensorType(dtype, shape)
            for name, shape in shapes(settings, input_type.shape).items()
            if name != "bias" or settings.truth("use_bias", True) is not False
        }

    return rule
