"""Dense, embedding, activation, normalization, regularization, reshaping and preprocessing layers.

Computes: output types of layer calls. Gives: `RULES`, and `WEIGHTS`, the weights that these layers build.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import BOOL, FLOAT32, INT64, STRING
from terra_refactor.domain.shape import Shape, element_count, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import NONE, UNKNOWN, TensorKind, TensorValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import (
    ResultDType,
    Settings,
    cast_input,
    is_dense_input,
    layer_inputs,
    output_kind,
    same_shape,
    single_input,
)
from terra_refactor.tf_model.keras.weights import WeightsRule, typed_weights
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _dense(settings: Settings, shape: Shape) -> Shape:
    return None if shape is None else (*shape[:-1], settings.integer("units"))


def _embedding(settings: Settings, shape: Shape) -> Shape:
    return None if shape is None else (*shape, settings.integer("output_dim"))


def _flatten(settings: Settings, shape: Shape) -> Shape:
    if shape is None:
        return (None, None)
    return (shape[0] if shape else None, element_count(shape[1:]))


def _reshape(settings: Settings, shape: Shape) -> Shape:
    target = read.integers(settings.get("target_shape"))
    if target is None:
        single = read.integer(settings.get("target_shape"))
        if single is None:
            return None
        target = (single,)
    batch = shape[0] if shape else None
    rest = shapes.reshaped_array("Reshape", None if shape is None else shape[1:], target)
    return None if rest is None else (batch, *rest)


def _permute(settings: Settings, shape: Shape) -> Shape:
    order = read.integers(settings.get("dims"))
    if order is None:
        return None
    if shape is None:
        return (None,) * (len(order) + 1)
    if len(shape) != len(order) + 1:
        raise OperationError(
            ErrorKind.RANK,
            f"Permute of {len(order)} axes takes rank {len(order) + 1}, but got {format_shape(shape)}",
            ("inputs",),
        )
    return (shape[0], *(shape[axis] if isinstance(axis, int) and 0 < axis < len(shape) else None for axis in order))


def _repeat_vector(settings: Settings, shape: Shape) -> Shape:
    count = settings.integer("n")
    return (None, count, None) if shape is None else (shape[0], count, shape[1])


def _axes(settings: Settings, default: int = -1) -> tuple[int, ...] | None:
    """The axes of a normalization layer; None if unknown."""
    value = settings.get("axis")
    if read.is_none(value):
        return (default,)
    listed = read.integers(value)
    if listed is None:
        single = read.known_integer(value)
        return None if single is None else (single,)
    known = tuple(axis for axis in listed if isinstance(axis, int))
    return known if len(known) == len(listed) else None


def _normalized(settings: Settings, shape: Shape) -> Shape:
    axes = _axes(settings)
    if shape is not None and axes is not None:
        for axis in axes:
            if not -len(shape) <= axis < len(shape):
                raise OperationError(
                    ErrorKind.RANK,
                    f"normalization over axis {axis} of an input of shape {format_shape(shape)}",
                    ("inputs",),
                )
    return shape


def _group_normalized(settings: Settings, shape: Shape) -> Shape:
    axes = _axes(settings)
    groups = settings.integer("groups")
    _normalized(settings, shape)
    if shape is not None and axes is not None and len(axes) == 1 and isinstance(groups, int) and groups > 0:
        channels = shape[axes[0]]
        if isinstance(channels, int) and (channels % groups or channels < groups):
            raise OperationError(
                ErrorKind.SHAPE,
                f"GroupNormalization: {channels} channels of {format_shape(shape)} cannot be divided into {groups} groups",
                ("inputs",),
            )
    return shape


def _image_axes(settings: Settings, shape: Shape) -> tuple[int, int] | None:
    channels_first = settings.channels_first()
    if shape is None or channels_first is None or len(shape) < 3:
        return None
    last = len(shape)
    return (last - 2, last - 1) if channels_first else (last - 3, last - 2)


def _resized(settings: Settings, shape: Shape) -> Shape:
    axes = _image_axes(settings, shape)
    if shape is None or axes is None:
        return None if shape is None else (None,) * len(shape)
    result = list(shape)
    result[axes[0]], result[axes[1]] = settings.integer("height"), settings.integer("width")
    return tuple(result)


def _center_crop(settings: Settings, shape: Shape) -> Shape:
    # smaller images are resized instead, so the size is always the requested one
    return _resized(settings, shape)


def _hashed(settings: Settings, shape: Shape) -> Shape:
    mode = settings.text("output_mode", "int")
    if mode == "int":
        return shape
    if shape is None or mode is None:
        return None
    base = _encoded_axes(mode, shape)
    return None if base is None else (*base, settings.integer("num_bins"))


def _encoded_axes(mode: str, shape: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """The axes before those of the classes: a row of `multi_hot` is one example, each number of `one_hot` is one,
    without a last axis of size 1.
    """
    if mode != "one_hot":
        return shape[:-1]
    if len(shape) == 1:
        return shape
    return None if not shape or shape[-1] is None else shape[:-1] if shape[-1] == 1 else shape


def _hashing(call: BoundCall) -> Value:
    settings = Settings(call.configuration)
    value = layer_inputs(call)
    if not is_dense_input(value):
        return read.tensor(None, None)
    shape = _hashed(settings, read.converted_type(value).shape)
    mode = settings.text("output_mode", "int")
    dtype = None if mode is None else INT64 if mode == "int" else FLOAT32
    return read.tensor(dtype if read.is_none(settings.get("dtype")) else None, shape, output_kind(value))


def _discretized(call: BoundCall) -> Value:
    """The bin of each number, or its encoding. Keras 2 uses int64 for bins, Keras 3 the dtype of its backend."""
    settings = Settings(call.configuration)
    value = layer_inputs(call)
    mode = settings.text("output_mode", "int")
    if not is_dense_input(value) or mode is None:
        return read.tensor(None, None)
    shape = read.converted_type(value).shape
    if mode == "int":
        return read.tensor(None, shape, output_kind(value))
    bounds = settings.get("bin_boundaries")
    found = read.elements(bounds)
    depth = settings.integer("num_bins") if read.is_none(bounds) else None if found is None else len(found) + 1
    if not shape or shape[-1] is None:
        return read.tensor(None, None, output_kind(value))
    base = shape[:-1] if mode != "one_hot" or shape[-1] == 1 else shape
    dtype = FLOAT32 if read.is_none(settings.get("dtype")) else None
    return read.tensor(dtype, (*base, depth), output_kind(value))


def _crossed(call: BoundCall) -> Value:
    """`HashedCrossing` of two inputs of one shape: a number or an encoding for each pair."""
    settings = Settings(call.configuration)
    parts = read.elements(layer_inputs(call))
    mode = settings.text("output_mode", "int")
    if parts is None or len(parts) != 2 or mode is None or not all(map(is_dense_input, parts)):
        return read.tensor(None, None)
    shape = meet_shapes(*(read.converted_type(part).shape for part in parts))
    if mode == "int":
        return read.tensor(INT64 if read.is_none(settings.get("dtype")) else None, shape, output_kind(parts[0]))
    if shape is None or (shape and shape[-1] is None):
        return read.tensor(None, None, output_kind(parts[0]))
    base = shape[:-1] if shape and shape[-1] == 1 else shape
    dtype = FLOAT32 if read.is_none(settings.get("dtype")) else None
    # a single number for two scalars is encoded without an axis of its own
    return read.tensor(dtype, (*base, settings.integer("num_bins")), output_kind(parts[0]))


def _encoded(settings: Settings, shape: Shape) -> Shape:
    mode = settings.text("output_mode", "multi_hot")
    depth = settings.integer("num_tokens")
    if shape is None or mode is None:
        return None
    if mode == "one_hot":
        if len(shape) < 2:
            return None  # Keras 2 and 3 differ
        if shape[-1] == 1:
            return (*shape[:-1], depth)
        return (*shape, depth) if isinstance(shape[-1], int) else None
    return (*shape[:-1], depth)


def _lambda(call: BoundCall) -> Value:
    function = call.configuration.get("function")
    value = layer_inputs(call)
    if function is None or value is None or not read.is_none(call.configuration.get("arguments")):
        return UNKNOWN
    return _given_placeholders(call, function, value)


def _given_placeholders(call: BoundCall, function: Value, value: Value) -> Value:
    """The result of a function called by a layer: for a Keras placeholder, the function receives a tensor in a graph
    that is discarded.
    """

    def as_tensor(leaf: Value) -> Value:
        is_placeholder = isinstance(leaf, TensorValue) and leaf.kind is TensorKind.KERAS
        return TensorValue(leaf.type) if isinstance(leaf, TensorValue) and is_placeholder else leaf

    def as_placeholder(leaf: Value) -> Value:
        is_tensor = isinstance(leaf, TensorValue) and leaf.kind is TensorKind.TENSOR
        return TensorValue(leaf.type, TensorKind.KERAS) if isinstance(leaf, TensorValue) and is_tensor else leaf

    given = read.map_structure(as_tensor, value)
    result = call.invoke(function, [given])
    return result if given == value else read.map_structure(as_placeholder, result)


def _identity(call: BoundCall) -> Value:
    value = layer_inputs(call)
    settings = Settings(call.configuration)

    def cast(leaf: Value) -> Value:
        if not is_dense_input(leaf):
            return leaf
        return TensorValue(cast_input(settings, leaf), output_kind(leaf))

    return UNKNOWN if value is None else read.map_structure(cast, value)


def _activation(call: BoundCall) -> Value:
    """Functions given by name are element-wise; other functions are called."""
    function = call.configuration.get("activation")
    if read.text(function) is None and not read.is_none(function):
        value = layer_inputs(call)
        if function is None or value is None:
            return UNKNOWN
        settings = Settings(call.configuration)
        return _given_placeholders(call, function, TensorValue(cast_input(settings, value), output_kind(value)))
    return single_input(same_shape)(call)


def _string_lookup(call: BoundCall) -> Value:
    settings = Settings(call.configuration)
    value = layer_inputs(call)
    mode = settings.text("output_mode", "int")
    if isinstance(value, TensorValue) and value.kind in (TensorKind.RAGGED, TensorKind.SPARSE) and mode == "int":
        found = STRING if settings.truth("invert", False) is True else INT64
        return TensorValue(
            TensorType(found if read.is_none(settings.get("dtype")) else None, value.type.shape), value.kind
        )
    if not is_dense_input(value):
        return read.tensor(None, None)
    shape = read.converted_type(value).shape
    if mode == "int":
        if settings.truth("invert", False) is True:
            return read.tensor(STRING, shape, output_kind(value))
        dtype = settings.get("dtype")
        return read.tensor(INT64 if read.is_none(dtype) else None, shape, output_kind(value))
    depth = settings.integer("max_tokens") if settings.truth("pad_to_max_tokens", False) else None
    if shape is None or mode is None:
        return read.tensor(None, None, output_kind(value))
    base = _encoded_axes(mode, shape)
    return read.tensor(None, None if base is None else (*base, depth), output_kind(value))


def _einsum_dense(settings: Settings, shape: Shape) -> Shape:
    equation = read.text(settings.get("equation"))
    given = settings.get("output_shape")
    sizes = read.integers(given)
    if sizes is None:
        single = read.integer(given)
        sizes = None if single is None else (single,)
    if equation is None or sizes is None or shape is None or "->" not in equation:
        return None
    compact = equation.replace(" ", "")
    left, _, output = compact.partition("->")
    source, _, _kernel = left.partition(",")
    prefix = "..." if "..." in source else ""
    bare_source, bare_output = source.replace("...", ""), output.replace("...", "")
    if prefix:
        if len(bare_source) > len(shape) or not (source.startswith("...") or source.endswith("...")):
            return None
        if not (output.startswith("...") if source.startswith("...") else output.endswith("...")):
            return None
        count = len(shape) - len(bare_source)
        if count > 1:
            return None  # Keras's symbolic result orders several such axes differently
        extra = shape[:count] if source.startswith("...") else shape[len(bare_source) :]
        labelled = shape[count:] if source.startswith("...") else shape[: len(bare_source)]
    else:
        if len(bare_source) != len(shape):
            return None
        extra, labelled = (), shape
    by_label = dict(zip(bare_source, labelled, strict=True))
    # the output shape is given without the batch axis, or, with an ellipsis, for the labels alone
    if prefix and source.startswith("..."):
        wanted: Shape = sizes[-len(bare_output) :] if len(sizes) >= len(bare_output) else None
    else:
        wanted = (None, *sizes) if len(sizes) == len(bare_output) - 1 else None
    if wanted is None:
        return None
    result = tuple(
        by_label[label] if dim is None and label in by_label else dim
        for label, dim in zip(bare_output, wanted, strict=True)
    )
    return (*extra, *result) if source.startswith("...") or not prefix else (*result, *extra)


def _channels_at(settings: Settings, shape: Shape) -> Dim:
    axes = _axes(settings)
    if shape is None or axes is None or len(axes) != 1 or not -len(shape) <= axes[0] < len(shape):
        return None
    return shape[axes[0]]


def _dense_weights(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
    units = settings.integer("units")
    return {"kernel": (shape[-1] if shape else None, units), "bias": (units,)}


def _batch_normalization_weights(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
    channels = (_channels_at(settings, shape),)
    weights: dict[str, Shape] = {}
    if settings.truth("scale", True) is not False:
        weights["gamma"] = channels
    if settings.truth("center", True) is not False:
        weights["beta"] = channels
    return {**weights, "moving_mean": channels, "moving_variance": channels}


def _layer_normalization_weights(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
    axes = _axes(settings)
    sizes: Shape = None
    if shape is not None and axes is not None and all(-len(shape) <= axis < len(shape) for axis in axes):
        sizes = tuple(shape[axis] for axis in sorted(axis % len(shape) for axis in axes))
    weights: dict[str, Shape] = {}
    if settings.truth("scale", True) is not False:
        weights["gamma"] = sizes
    if settings.truth("center", True) is not False:
        weights["beta"] = sizes
    return weights


def _embedding_mask(call: BoundCall) -> Value:
    """`Embedding.compute_mask(inputs)`: where the numbers are not 0; None unless `mask_zero`."""
    value = read.first_of(call, "inputs")
    masks = Settings(call.configuration).truth("mask_zero", False)
    if masks is False:
        return NONE
    return UNKNOWN if masks is None or not is_dense_input(value) else _mask(value, read.converted_type(value).shape)


def _masking_mask(call: BoundCall) -> Value:
    """`Masking.compute_mask(inputs)`: one bool for each step."""
    value = read.first_of(call, "inputs")
    shape = read.converted_type(value).shape
    return UNKNOWN if not is_dense_input(value) else _mask(value, shape[:-1] if shape else None)


def _mask(value: Value | None, shape: Shape) -> Value:
    return read.tensor(BOOL, shape, output_kind(value))


def _embedding_weights(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
    return {"embeddings": (settings.integer("input_dim"), settings.integer("output_dim"))}


_ELEMENT_WISE: Final = (
    "ReLU",
    "LeakyReLU",
    "ELU",
    "PReLU",
    "Softmax",
    "ThresholdedReLU",
    "Dropout",
    "AlphaDropout",
    "GaussianDropout",
    "GaussianNoise",
    "Rescaling",
)
"""Layers that keep the shape and compute in the compute dtype."""

_SPATIAL_DROPOUT: Final = {"SpatialDropout1D": 3, "SpatialDropout2D": 4, "SpatialDropout3D": 5}

_AUGMENTATION: Final = (
    "RandomFlip",
    "RandomRotation",
    "RandomZoom",
    "RandomTranslation",
    "RandomContrast",
    "RandomBrightness",
    "RandomShear",
    "RandomHue",
    "RandomSaturation",
    "RandomSharpness",
    "RandomPerspective",
    "RandomGaussianBlur",
    "RandomPosterization",
    "RandomInvert",
    "RandomErasing",
    "RandomColorJitter",
    "Solarization",
    "AutoContrast",
    "Equalization",
    "ContrastLimitedAdaptiveHistogramEqualization",
    "RandomColorDegeneration",
    "RandomElasticTransform",
    "RandomGrayscale",
)
"""Preprocessing layers that keep an image's size."""


def _rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}

    def declare(name: str, rule: OperationRule) -> None:
        rules[f"keras.layers.{name}.__call__"] = rule

    declare("Dense", single_input(_dense, dtype=ResultDType.COMPUTE, min_rank=1))
    declare("EinsumDense", single_input(_einsum_dense, dtype=ResultDType.COMPUTE))
    declare("Embedding", single_input(_embedding, dtype=ResultDType.COMPUTE))
    declare("Flatten", single_input(_flatten, dtype=ResultDType.INPUT, min_rank=1))
    declare("Reshape", single_input(_reshape, dtype=ResultDType.INPUT))
    declare("Permute", single_input(_permute, dtype=ResultDType.INPUT))
    declare("RepeatVector", single_input(_repeat_vector, rank=2))
    declare("Masking", single_input(same_shape))
    declare("ActivityRegularization", single_input(same_shape, dtype=ResultDType.INPUT))
    declare("BatchNormalization", single_input(_normalized))
    declare("SyncBatchNormalization", single_input(_normalized))
    declare("LayerNormalization", single_input(_normalized))
    declare("UnitNormalization", single_input(_normalized))
    declare("RMSNormalization", single_input(_normalized))
    declare("GroupNormalization", single_input(_group_normalized))
    declare("Normalization", single_input(same_shape))
    for name in _ELEMENT_WISE:
        declare(name, single_input(same_shape))
    for name, rank in _SPATIAL_DROPOUT.items():
        declare(name, single_input(same_shape, rank=rank))
    for name in _AUGMENTATION:
        declare(name, single_input(same_shape))
    declare("Resizing", single_input(_resized))
    declare("CenterCrop", single_input(_center_crop))
    declare("RandomCrop", single_input(_resized))
    declare("CategoryEncoding", single_input(_encoded, dtype=ResultDType.COMPUTE))
    declare("Discretization", _discretized)
    declare("HashedCrossing", _crossed)
    declare("Hashing", _hashing)
    declare("StringLookup", _string_lookup)
    declare("IntegerLookup", _string_lookup)
    declare("Lambda", _lambda)
    declare("Identity", _identity)
    declare("InputLayer", _identity)
    declare("Activation", _activation)
    return rules


RULES: Final[Mapping[str, OperationRule]] = {
    **_rules(),
    "keras.layers.Embedding.compute_mask": _embedding_mask,
    "keras.layers.Masking.compute_mask": _masking_mask,
}

WEIGHTS: Final[Mapping[str, WeightsRule]] = {
    "keras.layers.Dense": typed_weights(_dense_weights),
    "keras.layers.Embedding": typed_weights(_embedding_weights),
    "keras.layers.BatchNormalization": typed_weights(_batch_normalization_weights),
    "keras.layers.LayerNormalization": typed_weights(_layer_normalization_weights),
    "keras.layers.GroupNormalization": typed_weights(
        lambda settings, shape: {
            name: weight
            for name, weight in (
                ("gamma", (_channels_at(settings, shape),)),
                ("beta", (_channels_at(settings, shape),)),
            )
            if settings.truth("scale" if name == "gamma" else "center", True) is not False
        }
    ),
}
