"""Rules for tables of keys and values. Gives: `RULES`. Source: `tf.lookup`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import INT64, DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TensorKind, TensorValue, Value
from terra_refactor.tf_model.arguments import is_none
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import result
from terra_refactor.tf_model.spec import BoundCall, Rule


def _value_dtype(call: BoundCall) -> DType | None:
    """The dtype of the values, if the constructor names it; buckets of a vocabulary are numbered."""
    if call.name.startswith(_VOCABULARY):
        return INT64
    wanted = call.configuration.get("value_dtype")
    return None if is_none(wanted) else tensor_dtype(wanted)


def _found(call: BoundCall) -> Value:
    """A value for each key. Tables of vectors, whose default has a rank, give more axes."""
    keys, dtype = call.argument("keys"), _value_dtype(call)
    data = operand(keys)
    default = call.configuration.get("default_value")
    scalar = call.name.startswith((_VOCABULARY, _STATIC)) or operand(default).type.shape == ()
    shape = data.type.shape if scalar and data.known else None
    if isinstance(keys, TensorValue) and keys.kind in (TensorKind.RAGGED, TensorKind.SPARSE):
        return TensorValue(TensorType(dtype, keys.type.shape if scalar else None), keys.kind)
    return result(dtype, shape)


def _size(call: BoundCall) -> Value:
    return result(INT64, ())


_STATIC: Final = "tensorflow.lookup.StaticHashTable"
_VOCABULARY: Final = "tensorflow.lookup.StaticVocabularyTable"
_TABLES: Final = (
    _STATIC,
    _VOCABULARY,
    *("tensorflow.lookup.experimental.MutableHashTable", "tensorflow.lookup.experimental.DenseHashTable"),
)

RULES: Final[Mapping[str, Rule]] = {
    **{f"{table}.{name}": _found for table in _TABLES for name in ("lookup", "__getitem__")},
    **{f"{table}.size": _size for table in _TABLES},
}
