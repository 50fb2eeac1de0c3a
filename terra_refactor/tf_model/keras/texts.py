"""Texts as numbers: `keras.layers.TextVectorization` and `Tokenizer` of `keras.preprocessing.text`.

Computes: their results, and calls the program's functions that standardize and split the texts. Gives: `RULES`.
Ignores: vocabularies, so sizes that depend on the words of the texts.
Source: Keras 3.15, `keras.src.layers.preprocessing.text_vectorization`, `keras.src.legacy.preprocessing.text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOAT64, INT64, STRING
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN_INT,
    DatasetValue,
    FrozenList,
    TensorKind,
    TensorValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import Settings, is_dense_input, layer_inputs, output_kind
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _text_vectorization(call: BoundCall) -> Value:
    settings = Settings(call.configuration)
    value = layer_inputs(call)
    if not is_dense_input(value) or settings.truth("ragged", False):
        return read.tensor(None, None)
    shape = read.converted_type(value).shape
    _call_functions(call, shape)
    mode = settings.text("output_mode", "int")
    batch = shape[0] if shape else None
    if mode == "int" and read.is_none(settings.get("dtype")):
        split = settings.get("split")
        if shape is not None and (len(shape) > 2 or read.is_none(split)):
            return read.tensor(INT64, None, output_kind(value))
        if shape == ():
            return read.tensor(INT64, (settings.integer("output_sequence_length"),), output_kind(value))
        if shape is None:
            return read.tensor(INT64, None, output_kind(value))
        return read.tensor(INT64, (batch, settings.integer("output_sequence_length")), output_kind(value))
    # counts are int64 or float32, depending on the mode and the version
    return read.tensor(None, None, output_kind(value))


def _adapt(call: BoundCall) -> Value:
    """`layer.adapt(data)`: standardizes and splits each batch of a dataset, or all texts as a column."""
    data = read.first_of(call, "data", "dataset")
    if isinstance(data, DatasetValue):
        _call_functions(call, read.converted_type(data.element).shape)
    elif data is not None and not isinstance(data, UnknownValue):
        shape = read.converted_type(data).shape
        _call_functions(call, (*shape, 1) if shape is not None and len(shape) == 1 else shape)
    return NONE


def _call_functions(call: BoundCall, shape: Shape) -> None:
    """Calls `standardize` with the texts, and `split` with its result; the split drops a last axis of size 1."""
    texts: Value = read.tensor(STRING, shape)
    for name in ("standardize", "split"):
        function = call.configuration.get(name)
        if name == "split" and isinstance(texts, TensorValue):
            given = texts.type.shape
            squeezed = given[:-1] if given is not None and len(given) > 1 else given
            texts = read.tensor(texts.type.dtype, squeezed)
        if function is not None and not read.is_none(function) and read.text(function) is None:
            texts = call.invoke(function, [texts])


def _count(value: Value | None) -> Dim:
    """The number of texts or sequences; None if unknown."""
    items = read.elements(value)
    if items is not None:
        return len(items)
    if isinstance(value, FrozenList):
        return value.length
    return value.type.shape[0] if isinstance(value, TensorValue) and value.type.shape else None


def _sequences(call: BoundCall) -> Value:
    """`Tokenizer.texts_to_sequences(texts)`: for each text the list of the numbers of its words."""
    return FrozenList(None, FrozenList(None, UNKNOWN_INT), _count(call.argument("texts")))


def _matrix(call: BoundCall) -> Value:
    """`texts_to_matrix(texts)` and `sequences_to_matrix(sequences)`: a row for each text, a column for each word."""
    given = read.first_of(call, "texts", "sequences")
    words = call.configuration.get("num_words")
    width = None if read.is_none(words) else read.size(words)
    return read.tensor(FLOAT64, (_count(given), width), TensorKind.NDARRAY)


_TOKENIZER: Final = "keras.preprocessing.text.Tokenizer"

RULES: Final[Mapping[str, OperationRule]] = {
    "keras.layers.TextVectorization.__call__": _text_vectorization,
    "keras.layers.TextVectorization.adapt": _adapt,
    f"{_TOKENIZER}.texts_to_sequences": _sequences,
    f"{_TOKENIZER}.texts_to_matrix": _matrix,
    f"{_TOKENIZER}.sequences_to_matrix": _matrix,
}
