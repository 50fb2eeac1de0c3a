"""Axis semantics: element-wise functions, and functions that select or normalise along an axis.

Computes: nothing. Gives: `operator_of`, `choice_of`, `normalising_of`, `wants_classes`, `class_loss_of`, `is_softmax`, and further
queries about the meaning of axes.

Source: the documentation of each function in TensorFlow 2.21 and Keras 3.15.
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
    """A function that selects along an axis."""

    parameter: str
    """The parameter for the data."""
    axis: int
    """The default axis."""
    outcome: str
    """The result if the axis has size 1."""


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
    """The operator that a function of two operands `x` and `y` is equivalent to."""
    return _OPERATORS.get(name.replace("compat.v1.", ""))


def choice_of(name: str) -> AxisChoice | None:
    """How a function selects along an axis; None if it does not."""
    return _CHOICES.get(name)


def wants_classes(name: str) -> bool:
    """Whether a loss requires a row of classes for each example, and treats all axes but the last as one."""
    return name in _CROSS_ENTROPIES


def is_softmax(value: Value) -> bool:
    """Whether an activation is softmax."""
    return value in _SOFTMAXES


@dataclass(frozen=True, slots=True)
class Normalising:
    """A function that normalises along an axis."""

    name: str
    weights: bool
    """Whether it computes weights that sum to 1; otherwise rows of length 1."""
    outcome: str
    """The error that results from a sum along another axis."""


_WEIGHTS: Final = Normalising("softmax", weights=True, outcome="the weights of a sum do not sum to 1")
_LENGTH: Final = Normalising("l2_normalize", weights=False, outcome="the products are not cosines")
ROWS_OF_LENGTH_ONE: Final = Normalising("divided by the norm", weights=False, outcome=_LENGTH.outcome)
"""The operations of a division by the norm."""
_NORMALISING: Final[Mapping[str, Normalising]] = {
    "tensorflow.nn.softmax": _WEIGHTS,
    "tensorflow.compat.v1.math.softmax": _WEIGHTS,
    "keras.activations.softmax": _WEIGHTS,
    "keras.ops.softmax": _WEIGHTS,
    "tensorflow.math.l2_normalize": _LENGTH,
    "tensorflow.compat.v1.math.l2_normalize": _LENGTH,
}
MATRIX_PRODUCTS: Final = frozenset({"tensorflow.linalg.matmul", "keras.ops.matmul"})
EINSUMS: Final = frozenset({"tensorflow.einsum", "keras.ops.einsum"})
MEANS: Final = frozenset({"tensorflow.math.reduce_mean", "keras.ops.mean"})
SUMS: Final = frozenset({"tensorflow.math.reduce_sum", "keras.ops.sum"})
_ELEMENTWISE_LOSSES: Final = frozenset(
    {
        "tensorflow.nn.sigmoid_cross_entropy_with_logits",
        "tensorflow.compat.v1.nn.sigmoid_cross_entropy_with_logits",
        "tensorflow.nn.weighted_cross_entropy_with_logits",
    }
)
_KEEP_VALUES: Final = frozenset(
    {
        "tensorflow.cast",
        "tensorflow.identity",
        "tensorflow.math.logical_not",
        "tensorflow.stop_gradient",
        "keras.ops.cast",
    }
)
_LOOKUPS: Final[Mapping[str, str]] = {
    "keras.layers.Embedding.__call__": "",
    "keras.layers.Layer.__call__": "",
    "tensorflow.nn.embedding_lookup": "ids",
    "tensorflow.compat.v1.nn.embedding_lookup": "ids",
    "tensorflow.gather": "indices",
}


@dataclass(frozen=True, slots=True)
class Scan:
    """A function that accumulates along an axis."""

    parameter: str
    """The parameter for the data."""
    axis: int
    """The default axis."""


_SCANS: Final[Mapping[str, Scan]] = {
    "tensorflow.scan": Scan("elems", 0),
    "tensorflow.math.cumsum": Scan("x", 0),
    "tensorflow.math.cumprod": Scan("x", 0),
    "tensorflow.math.cumulative_logsumexp": Scan("x", 0),
    "keras.ops.cumsum": Scan("x", 0),
}
_KEEP_FIRST: Final = frozenset(
    {
        "tensorflow.cast",
        "tensorflow.identity",
        "tensorflow.nn.softmax",
        "tensorflow.nn.log_softmax",
        "tensorflow.nn.sigmoid",
        "tensorflow.math.sigmoid",
        "tensorflow.nn.relu",
        "tensorflow.stop_gradient",
    }
)
_CLASS_LOSSES: Final[Mapping[str, str]] = {
    "keras.losses.sparse_categorical_crossentropy": "y_pred",
    "keras.losses.categorical_crossentropy": "y_pred",
}


def normalising_of(name: str) -> Normalising | None:
    """How a function normalises along an axis; None if it does not."""
    return _NORMALISING.get(name)


def class_loss_of(name: str) -> str | None:
    """The parameter of a loss that takes a probability for each class along the last axis; None for other functions."""
    return _CLASS_LOSSES.get(name)


def is_log_softmax(name: str) -> bool:
    """Whether a function returns logarithms of probabilities."""
    return _CHOICES.get(name) is _LOG_SOFTMAX


def is_validity_mask(name: str) -> bool:
    """Whether a function returns a mask of padding."""
    return name == "tensorflow.sequence_mask"


def keeps_first_axis(name: str) -> bool:
    """Whether a function of one tensor keeps its axes, or works along the last of them."""
    return name in _KEEP_FIRST


def is_elementwise_loss(name: str) -> bool:
    """Whether a function returns a loss for each element of its logits."""
    return name in _ELEMENTWISE_LOSSES


def keeps_values(name: str) -> bool:
    """Whether a function returns its elements unchanged, except for their dtype or sign."""
    return name in _KEEP_VALUES


def is_norm(name: str) -> bool:
    """Whether a function returns the length of vectors along an axis."""
    return name in ("tensorflow.norm", "tensorflow.linalg.norm", "keras.ops.norm")


def is_softmax_call(name: str) -> bool:
    """Whether a function returns probabilities that sum to 1 along an axis, by default the last one."""
    return _NORMALISING.get(name) is _WEIGHTS


def is_exp_or_log(name: str) -> bool:
    """Whether a function returns the exponential or logarithm of each element."""
    return name in ("tensorflow.math.exp", "tensorflow.math.log")


def is_square(name: str) -> bool:
    """Whether a function returns the square of each element."""
    return name in ("tensorflow.math.square", "keras.ops.square")


def is_log_sum(name: str) -> bool:
    """Whether a function returns the logarithm of a sum of exponentials along axes."""
    return name in ("tensorflow.math.reduce_logsumexp", "keras.ops.logsumexp")


def is_reversal(name: str) -> bool:
    """Whether a function reverses a tensor along given axes."""
    return name in ("tensorflow.reverse", "keras.ops.flip")


def scanned_axis_of(name: str) -> Scan | None:
    """How a function proceeds along an axis; None if it does not."""
    return _SCANS.get(name)


def ids_parameter_of(name: str) -> str | None:
    """The parameter with the ids of a lookup, empty for the first argument; None for other functions."""
    return _LOOKUPS.get(name)


def is_layer_call(name: str) -> bool:
    """Whether a function calls a Keras layer or model, whose first axis is that of the examples."""
    return name.startswith("keras.") and name.endswith(".__call__")


def is_array_reshape(name: str) -> bool:
    """Whether a function or method reshapes a NumPy array."""
    return name in ("numpy.reshape", "numpy.ndarray.reshape")


def is_array_method(name: str) -> bool:
    """Whether the array is the object of a method, not an argument."""
    return name.startswith("numpy.ndarray.")


def is_squeeze(name: str) -> bool:
    """Whether a function removes axes of size 1."""
    return name in ("tensorflow.squeeze", "keras.ops.squeeze")


def gives_sizes(name: str) -> bool:
    """Whether a function returns the sizes of a tensor's axes."""
    return name in ("tensorflow.shape", "tensorflow.compat.v1.shape", "keras.ops.shape")


def is_gather(name: str) -> bool:
    """Whether a function looks up indices along an axis, which are per example only with `batch_dims`."""
    return name in ("tensorflow.gather", "tensorflow.compat.v1.gather")
