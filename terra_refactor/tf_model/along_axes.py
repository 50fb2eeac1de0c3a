"""Functions that compute element by element, and functions that choose along an axis.

Computes: nothing. Gives: `operator_of`, `choice_of`, `wants_classes`, `is_softmax`.

Source: the documentation of each in TensorFlow 2.21 and Keras 3.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from terra_refactor.domain.value import Constant, LibraryValue, Value

_OPERATORS: Final = {
    "tensorflow.math.subtract": "-",
    "tensorflow.math.squared_difference": "-",
    "tensorflow.math.equal": "==",
    "tensorflow.math.not_equal": "!=",
    "tensorflow.math.add": "+",
    "tensorflow.math.multiply": "*",
    "tensorflow.math.divide": "/",
    "tensorflow.math.greater": ">",
    "tensorflow.math.less": "<",
}


@dataclass(frozen=True, slots=True)
class AxisChoice:
    """A function that chooses along an axis."""

    parameter: str
    """The parameter for the data."""
    axis: int
    """The axis where none is given."""
    outcome: str
    """The result where the axis has size 1."""


_ARGMAX: Final = AxisChoice("input", 0, "always 0")
_SOFTMAX: Final = AxisChoice("logits", -1, "always 1")
_LOG_SOFTMAX: Final = AxisChoice("logits", -1, "always 0")
_CHOICES: Final[Mapping[str, AxisChoice]] = {
    "tensorflow.math.argmax": _ARGMAX,
    "tensorflow.math.argmin": _ARGMAX,
    "tensorflow.compat.v1.argmax": _ARGMAX,
    "tensorflow.compat.v1.argmin": _ARGMAX,
    "tensorflow.nn.softmax": _SOFTMAX,
    "tensorflow.nn.log_softmax": _LOG_SOFTMAX,
    "tensorflow.compat.v1.math.softmax": _SOFTMAX,
    "tensorflow.compat.v1.math.log_softmax": _LOG_SOFTMAX,
    "keras.activations.softmax": AxisChoice("x", -1, "always 1"),
    "keras.ops.softmax": AxisChoice("x", -1, "always 1"),
    "keras.ops.argmax": AxisChoice("x", 0, "always 0"),
}
_SOFTMAXES: Final = (
    Constant("softmax"),
    LibraryValue("keras.activations.softmax"),
    LibraryValue("tensorflow.nn.softmax"),
)
_CROSS_ENTROPIES: Final = frozenset(
    {
        "tensorflow.nn.softmax_cross_entropy_with_logits",
        "tensorflow.compat.v1.nn.softmax_cross_entropy_with_logits",
        "tensorflow.compat.v1.nn.softmax_cross_entropy_with_logits_v2",
    }
)


def operator_of(name: str) -> str | None:
    """The operator that a function of two operands `x` and `y` is."""
    return _OPERATORS.get(name.replace("compat.v1.", ""))


def choice_of(name: str) -> AxisChoice | None:
    """The selection of a function along an axis; None if it does not."""
    return _CHOICES.get(name)


def wants_classes(name: str) -> bool:
    """Whether a loss wants a row of classes for each example, and takes all axes but the last together."""
    return name in _CROSS_ENTROPIES


def is_softmax(value: Value) -> bool:
    """Whether an activation is softmax."""
    return value in _SOFTMAXES
