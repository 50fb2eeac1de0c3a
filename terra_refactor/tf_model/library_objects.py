"""Library objects that the analysis creates itself, or whose settings it follows.

Computes: nothing. Gives: tables by canonical name.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.name_table import words

MADE_OF_CLASS: Final = {"numpy.random.default_rng": "numpy.random.Generator"}
"""Functions that return an object of a class, whatever their arguments."""

CONSTRUCTED_FROM: Final = {"keras.Model": ("inputs", "outputs", "name")}
"""Positional parameters of constructors whose signature is `*args, **kwargs`."""
SETTINGS_OF_PART: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "tensorflow.lookup.StaticHashTable": ("initializer", words("key_dtype value_dtype keys values")),
    "tensorflow.lookup.StaticVocabularyTable": ("initializer", words("key_dtype value_dtype keys values")),
}
"""Classes whose objects also have settings of an object that their constructor takes: its parameter, and the names of the settings."""
PLACEHOLDERS: Final = frozenset(
    {"tensorflow.compat.v1.placeholder", "tensorflow.compat.v1.placeholder_with_default", "keras.backend.placeholder"}
)
"""Functions whose results are distinguished by where they are created, like variables, since feeds use them as keys."""
FLOAT_SETTINGS: Final = frozenset(
    registry.canonical_name(f"keras.{name}")
    for name in (
        "config.set_floatx",
        "backend.set_floatx",
        "config.set_dtype_policy",
        "mixed_precision.set_global_policy",
        "mixed_precision.set_dtype_policy",
    )
)
_SUMMARY_OBJECTS: Final = frozenset({"tensorflow.summary.create_file_writer", "tensorflow.summary.create_noop_writer"})
_ABOUT_OBJECTS: Final = words(
    "callable delattr getattr hasattr id isinstance issubclass object.__init__ object.__new__ object.__setattr__ setattr super type"
)
NOT_LOOKED_INTO: Final = frozenset(
    (
        *(f"builtins.{name}" for name in _ABOUT_OBJECTS),
        "functools.partial",
        "functools.wraps",
        "typing.cast",
        "weakref.ref",
    )
)
"""Functions that test the kind of an object, or store it, without reading its content."""
TAKE_RECORDS_APART: Final = frozenset(f"dataclasses.{name}" for name in ("asdict", "astuple", "replace"))
"""Functions that read all fields of a record."""
FIXED_WIDTH: Final = frozenset(
    f"keras.layers.{name}"
    for name in (
        "Dense",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "SeparableConv1D",
        "SeparableConv2D",
        "DepthwiseConv2D",
        "Conv1DTranspose",
        "Conv2DTranspose",
        "Conv3DTranspose",
        "LSTM",
        "GRU",
        "SimpleRNN",
        "LSTMCell",
        "GRUCell",
        "SimpleRNNCell",
        "BatchNormalization",
    )
)
"""Layers whose weights require one size of the last axis (unless configured otherwise)."""
EMBEDDING: Final = "keras.layers.Embedding"
KERAS_INPUT: Final = "keras.Input"


def reads_default_writer(name: str) -> bool:
    """Whether a function uses the default summary writer."""
    return name.startswith("tensorflow.summary.") and name not in _SUMMARY_OBJECTS
