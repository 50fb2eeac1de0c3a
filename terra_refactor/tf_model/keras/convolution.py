"""Convolution, pooling, padding, cropping and up-sampling layers.

Computes: output types of layer calls. Gives: `RULES`, and `WEIGHTS` with the kernels and biases these layers build.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, definitely_equal, floor_divide, multiply, subtract
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import FrozenList, TupleValue
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import ResultDType, Settings, ShapeRule, single_input
from terra_refactor.tf_model.keras.weights import WeightsRule, typed_weights
from terra_refactor.tf_model.shape_rules.windows import (
    LAYOUT,
    POOLS_FIT,
    check_positive,
    spatial_axes,
    transposed_output,
    window_output,
)
from terra_refactor.tf_model.spec import ErrorKind, OperationError, OperationRule


def _image(shape: Shape, rank: int) -> tuple[Dim, ...] | None:
    """The shape if it has the usual rank `rank`; None for unknown ranks and for several batch axes, which some versions
    accept.
    """
    return shape if shape is not None and len(shape) == rank + 2 else None


def _with_channels(shape: tuple[Dim, ...], spatial: list[Dim], channels: Dim, channels_first: bool) -> Shape:
    return (shape[0], channels, *spatial) if channels_first else (shape[0], *spatial, channels)


def _unknown_image(rank: int, shape: Shape, channels: Dim, channels_first: bool | None) -> Shape:
    """The output if the layout or the input is unknown."""
    if shape is None:
        return None
    if len(shape) != rank + 2:
        return None
    if channels_first is None:
        return (shape[0], *(None,) * (rank + 1))
    return _with_channels(shape, [None] * rank, channels, channels_first)


def _channels(shape: Shape, channels_first: bool | None) -> Dim:
    if shape is None or channels_first is None:
        return None
    return shape[1] if channels_first else shape[-1]


def _check_groups(name: str, shape: Shape, channels: Dim, groups: Dim) -> None:
    if isinstance(channels, int) and isinstance(groups, int) and groups > 0 and channels % groups:
        raise OperationError(
            ErrorKind.SHAPE,
            f"{name}: {channels} channels of {format_shape(shape)} cannot be divided into {groups} groups",
            ("inputs",),
        )


def _convolve(name: str, rank: int, shape: Shape, settings: Settings, filters: Dim) -> Shape:
    channels_first = settings.channels_first()
    image = _image(shape, rank)
    if image is None or channels_first is None:
        return _unknown_image(rank, shape, filters, channels_first)
    padding = settings.text("padding", "valid")
    kernel = settings.sizes("kernel_size", rank)
    strides = settings.sizes("strides", rank, 1)
    dilations = settings.sizes("dilation_rate", rank, 1)
    spatial: list[Dim] = []
    for index, axis in enumerate(spatial_axes(rank + 2, channels_first)):
        size = window_output(image[axis], kernel[index], strides[index], padding, dilations[index])
        check_positive(name, size, shape, axis, kernel[index], None if settings.has_layout() else LAYOUT)
        spatial.append(size)
    return _with_channels(image, spatial, filters, channels_first)


def convolution_shape(rank: int) -> ShapeRule:
    """The shape rule of `Conv{rank}D`."""

    def rule(settings: Settings, shape: Shape) -> Shape:
        name = f"Conv{rank}D"
        _check_groups(name, shape, _channels(shape, settings.channels_first()), settings.integer("groups"))
        return _convolve(name, rank, shape, settings, settings.integer("filters"))

    return rule


def _separable_shape(rank: int) -> ShapeRule:
    return lambda settings, shape: _convolve(
        f"SeparableConv{rank}D", rank, shape, settings, settings.integer("filters")
    )


def _depthwise_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels = multiply(_channels(shape, settings.channels_first()), settings.integer("depth_multiplier"))
        return _convolve(f"DepthwiseConv{rank}D", rank, shape, settings, channels)

    return rule


def _transposed_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        filters = settings.integer("filters")
        channels_first = settings.channels_first()
        image = _image(shape, rank)
        if image is None or channels_first is None:
            return _unknown_image(rank, shape, filters, channels_first)
        kernel = settings.sizes("kernel_size", rank)
        strides = settings.sizes("strides", rank, 1)
        dilations = settings.sizes("dilation_rate", rank, 1)
        given = settings.get("output_padding")
        extra = settings.sizes("output_padding", rank)
        spatial: list[Dim] = []
        for index, axis in enumerate(spatial_axes(rank + 2, channels_first)):
            if not read.is_none(given) and extra[index] is None:
                spatial.append(None)
                continue
            spatial.append(
                transposed_output(
                    image[axis],
                    kernel[index],
                    strides[index],
                    settings.text("padding", "valid"),
                    extra[index],
                    dilations[index],
                )
            )
        return _with_channels(image, spatial, filters, channels_first)

    return rule


def _pooled_size(size: Dim, image: tuple[Dim, ...], axis: int, window: Dim, stride: Dim) -> Dim:
    """The size of a pooled axis. If a window does not fit, eager pooling may still return an empty tensor: its kernel
    rounds to 0.
    """
    if not isinstance(size, int) or size > 0:
        return size
    length = image[axis]
    if (
        isinstance(length, int)
        and isinstance(window, int)
        and isinstance(stride, int)
        and length - window <= -2 * stride
    ):
        check_positive("pooling", size, image, axis, window, POOLS_FIT)
    return None


def _pooling_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels_first = settings.channels_first()
        image = _image(shape, rank)
        if image is None or channels_first is None:
            return _unknown_image(rank, shape, None, channels_first)
        windows = settings.sizes("pool_size", rank, 2)
        strides = windows if read.is_none(settings.get("strides")) else settings.sizes("strides", rank)
        padding = settings.text("padding", "valid")
        spatial: list[Dim] = []
        for index, axis in enumerate(spatial_axes(rank + 2, channels_first)):
            size = window_output(image[axis], windows[index], strides[index], padding)
            spatial.append(_pooled_size(size, image, axis, windows[index], strides[index]))
        return _with_channels(image, spatial, _channels(shape, channels_first), channels_first)

    return rule


def _global_pooling_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        keep = settings.truth("keepdims", False)
        if keep is None:
            return None
        channels_first = settings.channels_first()
        if shape is None:
            return (None,) * (rank + 2) if keep else (None, None)
        channels = _channels(shape, channels_first)
        if not keep:
            return (shape[0], channels)
        if channels_first is None:
            return (shape[0], *(None,) * (rank + 1))
        return _with_channels(shape, [1] * rank, channels, channels_first)

    return rule


def _adaptive_pooling_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels_first = settings.channels_first()
        if shape is None or channels_first is None or len(shape) != rank + 2:
            return None
        sizes = settings.sizes("output_size", rank)
        return _with_channels(shape, list(sizes), _channels(shape, channels_first), channels_first)

    return rule


def _pairs(settings: Settings, name: str, rank: int) -> tuple[tuple[Dim, Dim], ...]:
    """`padding` or `cropping`: an int, an int for each axis, or a pair for each axis."""
    value = settings.get(name)
    unknown: tuple[tuple[Dim, Dim], ...] = ((None, None),) * rank
    if value is None:
        return ((1, 1),) * rank if name == "padding" else unknown
    items = read.elements(value)
    if items is None:
        single = read.integer(value)
        return ((single, single),) * rank
    if rank == 1:
        return ((read.integer(items[0]), read.integer(items[1])),) if len(items) == 2 else unknown
    if len(items) != rank:
        return unknown
    pairs: list[tuple[Dim, Dim]] = []
    for item in items:
        if isinstance(item, TupleValue | FrozenList):
            pair = read.elements(item)
            if pair is None or len(pair) != 2:
                return unknown
            pairs.append((read.integer(pair[0]), read.integer(pair[1])))
        else:
            pairs.append((read.integer(item), read.integer(item)))
    return tuple(pairs)


def _padding_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels_first = settings.channels_first()
        if shape is None or channels_first is None:
            return None if shape is None else (shape[0], *(None,) * (rank + 1))
        result = list(shape)
        pairs = _pairs(settings, "padding", rank)
        for (before, after), axis in zip(pairs, spatial_axes(rank + 2, channels_first), strict=True):
            result[axis] = add(add(result[axis], before), after)
        return tuple(result)

    return rule


def _cropping_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels_first = settings.channels_first()
        if shape is None or channels_first is None:
            return None if shape is None else (shape[0], *(None,) * (rank + 1))
        result = list(shape)
        pairs = _pairs(settings, "cropping", rank)
        for (before, after), axis in zip(pairs, spatial_axes(rank + 2, channels_first), strict=True):
            result[axis] = subtract(subtract(result[axis], before), after)
            size = result[axis]
            if isinstance(size, int) and size <= 0:
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"Cropping{rank}D: nothing is left of axis {axis} of {format_shape(shape)} after cropping {before} and {after}",
                    ("inputs",),
                )
        return tuple(result)

    return rule


def _up_sampling_shape(rank: int) -> ShapeRule:
    def rule(settings: Settings, shape: Shape) -> Shape:
        channels_first = settings.channels_first()
        if shape is None or channels_first is None:
            return None if shape is None else (shape[0], *(None,) * (rank + 1))
        result = list(shape)
        factors = settings.sizes("size", rank, 2)
        for factor, axis in zip(factors, spatial_axes(rank + 2, channels_first), strict=True):
            result[axis] = multiply(result[axis], factor)
        return tuple(result)

    return rule


def _convolution_weights(rank: int, *, transposed: bool = False) -> WeightsRule:
    def rule(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
        channels = _channels(shape, settings.channels_first())
        filters = settings.integer("filters")
        kernel = settings.sizes("kernel_size", rank)
        if transposed:
            return {"kernel": (*kernel, filters, channels), "bias": (filters,)}
        groups = settings.integer("groups") if "groups" in settings.values else 1
        depth = channels if definitely_equal(groups, 1) else floor_divide(channels, groups)
        return {"kernel": (*kernel, depth, filters), "bias": (filters,)}

    return typed_weights(rule)


def _depthwise_weights(rank: int) -> WeightsRule:
    def rule(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
        channels = _channels(shape, settings.channels_first())
        multiplier = settings.integer("depth_multiplier")
        kernel = settings.sizes("kernel_size", rank)
        return {"kernel": (*kernel, channels, multiplier), "bias": (multiply(channels, multiplier),)}

    return typed_weights(rule)


def _separable_weights(rank: int) -> WeightsRule:
    def rule(settings: Settings, shape: Shape) -> Mapping[str, Shape]:
        channels = _channels(shape, settings.channels_first())
        multiplier = settings.integer("depth_multiplier")
        filters = settings.integer("filters")
        kernel = settings.sizes("kernel_size", rank)
        return {
            "depthwise_kernel": (*kernel, channels, multiplier),
            "pointwise_kernel": (*(1,) * rank, multiply(channels, multiplier), filters),
            "bias": (filters,),
        }

    return typed_weights(rule)


def _rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}

    def declare(name: str, rule: OperationRule) -> None:
        rules[f"keras.layers.{name}.__call__"] = rule

    for rank in (1, 2, 3):
        declare(f"Conv{rank}D", single_input(convolution_shape(rank), rank=rank + 2))
        declare(f"Conv{rank}DTranspose", single_input(_transposed_shape(rank), min_rank=rank + 2))
        for kind in ("MaxPooling", "AveragePooling"):
            declare(f"{kind}{rank}D", single_input(_pooling_shape(rank), dtype=ResultDType.FLOATING, rank=rank + 2))
        for kind in ("GlobalMaxPooling", "GlobalAveragePooling"):
            declare(f"{kind}{rank}D", single_input(_global_pooling_shape(rank), rank=rank + 2))
        for kind in ("AdaptiveMaxPooling", "AdaptiveAveragePooling"):
            declare(f"{kind}{rank}D", single_input(_adaptive_pooling_shape(rank)))
        declare(f"ZeroPadding{rank}D", single_input(_padding_shape(rank), dtype=ResultDType.INPUT, rank=rank + 2))
        declare(f"Cropping{rank}D", single_input(_cropping_shape(rank), dtype=ResultDType.INPUT, rank=rank + 2))
        declare(f"UpSampling{rank}D", single_input(_up_sampling_shape(rank), rank=rank + 2))
    for rank in (1, 2):
        declare(f"DepthwiseConv{rank}D", single_input(_depthwise_shape(rank), min_rank=rank + 2))
        declare(f"SeparableConv{rank}D", single_input(_separable_shape(rank), min_rank=rank + 2))
    return rules


RULES: Final[Mapping[str, OperationRule]] = _rules()

WEIGHTS: Final[Mapping[str, WeightsRule]] = {
    **{f"keras.layers.Conv{rank}D": _convolution_weights(rank) for rank in (1, 2, 3)},
    **{f"keras.layers.Conv{rank}DTranspose": _convolution_weights(rank, transposed=True) for rank in (1, 2, 3)},
    **{f"keras.layers.DepthwiseConv{rank}D": _depthwise_weights(rank) for rank in (1, 2)},
    **{f"keras.layers.SeparableConv{rank}D": _separable_weights(rank) for rank in (1, 2)},
}
