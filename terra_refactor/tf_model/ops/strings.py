"""Rules for `tf.strings`. Gives: `RULES`. Source: `tf.strings`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dtype import BOOL, FLOAT32, INT32, INT64, STRING, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import UNKNOWN, TensorKind, TensorValue, Value
from terra_refactor.tf_model.arguments import elements, is_none
from terra_refactor.tf_model.ops.conversion import Operand, operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.math import reduction
from terra_refactor.tf_model.ops.results import argument, check_dtype, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _text(call: BoundCall) -> Operand:
    return operand(argument(call, "input", "string_tensor", "data", "inputs", "source"))


def _each(dtype: DType, *, texts: bool = True) -> OperationRule:
    """A function of each string (or, without `texts`, of each element of any dtype)."""

    def rule(call: BoundCall) -> Value:
        data = _text(call)
        if texts:
            check_dtype(call, data.type.dtype, frozenset({STRING}), "input")
        if data.kind is TensorKind.SPARSE:
            return UNKNOWN
        kind = TensorKind.RAGGED if data.kind is TensorKind.RAGGED else TensorKind.TENSOR
        return TensorValue(TensorType(dtype, data.type.shape), kind)

    return rule


def _to_number(call: BoundCall) -> Value:
    data = _text(call)
    wanted = call.argument("out_type")
    kind = TensorKind.RAGGED if data.kind is TensorKind.RAGGED else TensorKind.TENSOR
    return TensorValue(TensorType(FLOAT32 if is_none(wanted) else tensor_dtype(wanted), data.type.shape), kind)


def _join(call: BoundCall) -> Value:
    parts = elements(call.argument("inputs"))
    if parts is None:
        return result(STRING)
    shape: Shape = ()
    for part in parts:
        data = operand(part)
        if data.kind is TensorKind.RAGGED:
            return TensorValue(TensorType(STRING), TensorKind.RAGGED)
        shape = broadcast_shapes(shape, data.type.shape, "strings.join", ("inputs",)) if data.known else None
    return result(STRING, shape)


def _split(call: BoundCall) -> Value:
    """Split strings: one more axis, which is ragged unless a single string was given."""
    data = _text(call)
    shape = data.type.shape
    dtype = INT32 if call.name.endswith("unicode_decode") else STRING
    if shape is None:
        return UNKNOWN if data.kind is not TensorKind.RAGGED else TensorValue(TensorType(dtype), TensorKind.RAGGED)
    if not shape:
        return result(dtype, (None,))
    return TensorValue(TensorType(dtype, (*shape, None)), TensorKind.RAGGED)


def _ngrams(call: BoundCall) -> Value:
    """A ragged tensor with other rows for a ragged tensor; for dense strings the result depends on the padding."""
    data = call.argument("data")
    if isinstance(data, TensorValue) and data.kind is TensorKind.RAGGED:
        return TensorValue(TensorType(STRING, data.type.shape), TensorKind.RAGGED)
    shape = _text(call).type.shape
    return result(STRING, None if not shape else (*shape[:-1], None))


def _format(call: BoundCall) -> Value:
    return result(STRING, ())


RULES: Final[Mapping[str, OperationRule]] = {
    "tensorflow.strings.ngrams": _ngrams,
    **{
        f"tensorflow.strings.{name}": _each(STRING)
        for name in ("lower", "upper", "strip", "regex_replace", "substr", "unicode_transcode")
    },
    "tensorflow.strings.length": _each(INT32),
    "tensorflow.strings.regex_full_match": _each(BOOL),
    "tensorflow.strings.as_string": _each(STRING, texts=False),
    **{
        f"tensorflow.strings.{name}": _each(INT64)
        for name in ("to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong")
    },
    "tensorflow.strings.to_number": _to_number,
    "tensorflow.strings.join": _join,
    **{f"tensorflow.strings.{name}": _split for name in ("split", "unicode_split", "unicode_decode", "bytes_split")},
    **table({"strings.reduce_join": reduction(frozenset({STRING})), "strings.format": _format}),
    "tensorflow.io.decode_base64": _each(STRING),
    "tensorflow.io.encode_base64": _each(STRING),
}
