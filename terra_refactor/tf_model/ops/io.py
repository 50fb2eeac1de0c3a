"""Rules for `tf.io`: files, codecs, and the parsing of examples by their features.

Gives: `RULES`. Source: `tf.io`, TensorFlow 2.21.

A feature (`tf.io.FixedLenFeature`) is represented by the spec of its parsed value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import STRING, UINT8
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    FrozenDict,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import dtype_argument, elements, integer, is_none, shape_argument, truth
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, result, table
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _fixed_feature(call: BoundCall) -> Value:
    return SpecValue(TensorType(tensor_dtype(call.argument("dtype")), shape_argument(call.argument("shape"))))


def _sequence_feature(call: BoundCall) -> Value:
    shape = shape_argument(call.argument("shape"))
    return SpecValue(TensorType(tensor_dtype(call.argument("dtype")), None if shape is None else (None, *shape)))


def _sparse_feature(call: BoundCall) -> Value:
    return SpecValue(TensorType(tensor_dtype(call.argument("dtype")), (None,)), TensorKind.SPARSE)


def _parsed(features: Value | None, batch: tuple[Dim, ...] | None) -> Value:
    if not isinstance(features, FrozenDict):
        return UNKNOWN

    def one(feature: Value) -> Value:
        if not isinstance(feature, SpecValue):
            return UNKNOWN
        shape = feature.type.shape
        return TensorValue(
            TensorType(feature.type.dtype, None if shape is None or batch is None else (*batch, *shape)), feature.kind
        )

    rest = None if features.rest is None else one(features.rest)
    return FrozenDict(tuple((key, one(feature)) for key, feature in features.items), rest)


def _parse_single(call: BoundCall) -> Value:
    return _parsed(call.argument("features"), ())


def _parse_batch(call: BoundCall) -> Value:
    shape = operand(call.argument("serialized")).type.shape
    return _parsed(call.argument("features"), shape)


def _parse_sequence(call: BoundCall) -> Value:
    return TupleValue((_parsed(call.argument("context_features"), ()), _parsed(call.argument("sequence_features"), ())))


def _decoded_image(call: BoundCall) -> Value:
    """The content of an image file: height, width and channels; 0 channels means as in the file."""
    channels_value = call.argument("channels")
    channels = None if is_none(channels_value) else integer(channels_value)
    wanted = call.argument("dtype")
    dtype = UINT8 if is_none(wanted) else tensor_dtype(wanted)
    if call.name.endswith("decode_image"):
        if truth(call.argument("expand_animations")) is not False:
            return result(dtype)
    if call.name.endswith("decode_gif"):
        return result(UINT8, (None, None, None, 3))
    return result(dtype, (None, None, channels if channels != 0 else None))


def _decode_raw(call: BoundCall) -> Value:
    shape = operand(argument(call, "input_bytes", "bytes")).type.shape
    return result(dtype_argument(call.argument("out_type")), None if shape is None else (*shape, None))


def _decode_csv(call: BoundCall) -> Value:
    shape = operand(call.argument("records")).type.shape
    defaults = elements(call.argument("record_defaults"))
    if defaults is None or not is_none(call.argument("select_cols")):
        return UNKNOWN
    columns = []
    for default in defaults:
        dtype = tensor_dtype(default) or operand(default).type.dtype
        columns.append(result(dtype, shape))
    return TupleValue(tuple(columns))


def _text(call: BoundCall) -> Value:
    return result(STRING, ())


def _parse_tensor(call: BoundCall) -> Value:
    return result(tensor_dtype(call.argument("out_type")))


def _texts(call: BoundCall) -> Value:
    return result(STRING, (None,))


RULES: Final[Mapping[str, OperationRule]] = table(
    {
        "io.FixedLenFeature": _fixed_feature,
        "io.FixedLenSequenceFeature": _sequence_feature,
        "io.VarLenFeature": _sparse_feature,
        "io.parse_single_example": _parse_single,
        "io.parse_example": _parse_batch,
        "io.parse_single_sequence_example": _parse_sequence,
        **{
            f"io.{name}": _decoded_image
            for name in ("decode_image", "decode_jpeg", "decode_png", "decode_bmp", "decode_gif")
        },
        "io.decode_raw": _decode_raw,
        "io.decode_csv": _decode_csv,
        "io.parse_tensor": _parse_tensor,
        **{f"io.{name}": _text for name in ("read_file", "serialize_tensor", "encode_jpeg", "encode_png")},
        "io.matching_files": _texts,
        "io.write_file": lambda call: NONE,
    }
)
