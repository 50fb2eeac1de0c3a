"""Models of Keras: layers, models, losses, metrics, optimizers, `keras.ops` and the datasets that come with it.

Gives: `RULES`, `ATTRIBUTES` and `WEIGHTS`, merged from the files of this package, a file per family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.value import Value
from terra_refactor.tf_model.keras import (
    convolution,
    core,
    functions,
    merging,
    models,
    operations,
    recurrent,
    texts,
    training,
)
from terra_refactor.tf_model.keras.weights import WeightsRule
from terra_refactor.tf_model.spec import OperationRule

RULES: Final[Mapping[str, OperationRule]] = {
    **convolution.RULES,
    **core.RULES,
    **functions.RULES,
    **merging.RULES,
    **models.RULES,
    **operations.RULES,
    **recurrent.RULES,
    **texts.RULES,
    **training.RULES,
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {**models.ATTRIBUTES, **training.ATTRIBUTES}

WEIGHTS: Final[Mapping[str, WeightsRule]] = {**convolution.WEIGHTS, **core.WEIGHTS, **recurrent.WEIGHTS}
"""By class name: the weights that a layer builds, by attribute name."""
