"""Rules for tables of keys and values, and for queues. Gives: `RULES`. Source: `tf.lookup` and `tf.queue`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import INT64, DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import UNKNOWN, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model.arguments import elements, is_none, shape_argument
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import result
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _value_dtype(call: BoundCall) -> DType | None:
    """The dtype of the values, if the constructor or the initializer of the table names it or converts values to it;
    vocabulary buckets are int64.
    """
    if call.name.startswith(_VOCABULARY):
        return INT64
    wanted = call.configuration.get("value_dtype")
    if not is_none(wanted):
        return tensor_dtype(wanted)
    values = call.configuration.get("values")
    return None if values is None else operand(values).type.dtype


def _found(call: BoundCall) -> Value:
    """A value for each key. Tables of vectors, whose default value has a rank, give additional axes."""
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


def _export(call: BoundCall) -> Value:
    """All keys and values. A graph does not know even their rank."""
    wanted = call.configuration.get("key_dtype")
    keys = None if is_none(wanted) else tensor_dtype(wanted)
    default = operand(call.configuration.get("default_value"))
    shape = (None,) if default.type.shape == () else None
    return TupleValue((result(keys, shape), result(_value_dtype(call), shape)))


def _dequeue(call: BoundCall) -> Value:
    """One element of a queue with single-tensor elements; elements of several tensors are unknown."""
    dtypes = elements(call.configuration.get("dtypes")) or (call.configuration.get("dtypes", UNKNOWN),)
    if len(dtypes) != 1:
        return UNKNOWN
    dtype, shape = tensor_dtype(dtypes[0]), None
    shapes = elements(call.configuration.get("shapes"))
    if shapes is not None and len(shapes) == 1 and elements(shapes[0]) is not None:
        shape = shape_argument(shapes[0])
    if not call.name.endswith("dequeue"):
        shape = None if shape is None else (None, *shape)
    return result(dtype, shape)


_STATIC: Final = "tensorflow.lookup.StaticHashTable"
_VOCABULARY: Final = "tensorflow.lookup.StaticVocabularyTable"
_TABLES: Final = (
    _STATIC,
    _VOCABULARY,
    *("tensorflow.lookup.experimental.MutableHashTable", "tensorflow.lookup.experimental.DenseHashTable"),
)

RULES: Final[Mapping[str, OperationRule]] = {
    **{f"{table}.{name}": _found for table in _TABLES for name in ("lookup", "__getitem__")},
    **{f"{table}.size": _size for table in _TABLES},
    **{f"{table}.export": _export for table in _TABLES if "Mutable" in table or "Dense" in table},
    **{f"tensorflow.queue.QueueBase.{name}": _dequeue for name in ("dequeue", "dequeue_many", "dequeue_up_to")},
}
