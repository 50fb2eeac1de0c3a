"""Rules for `tf.image`.

Computes: sizes of resized, cropped and padded images, batched or not. Gives: `RULES`. Source: `tf.image`, TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, multiply, subtract
from terra_refactor.domain.dtype import FLOAT32, FLOATING, INT32, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import FALSE, Scalar, TupleValue, Value, is_symbolic_number
from terra_refactor.tf_model.arguments import integer, integers, is_none, shape_argument, text, truth
from terra_refactor.tf_model.ops.conversion import Operand, operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, call_name, result, table
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _image(call: BoundCall) -> Operand:
    return operand(argument(call, "image", "images", "value", "img1", "a"))


def _check(call: BoundCall, shape: Shape, ranks: tuple[int, ...] = (3, 4)) -> None:
    if shape is not None and len(shape) not in ranks:
        listed = " or ".join(str(rank) for rank in ranks)
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: an image of shape {format_shape(shape)} has rank {len(shape)}, not {listed}",
            ("image",),
        )


def _sized(shape: Shape, height: Dim, width: Dim) -> Shape:
    """The shape with another height and width."""
    return None if shape is None or len(shape) not in (3, 4) else (*shape[:-3], height, width, shape[-1])


def _same(call: BoundCall) -> Value:
    data = _image(call)
    return result(data.type.dtype, data.type.shape)


def _flipped(call: BoundCall) -> Value:
    data = _image(call)
    _check(call, data.type.shape)
    return result(data.type.dtype, data.type.shape)


def _resized(call: BoundCall) -> Value:
    data = _image(call)
    _check(call, data.type.shape)
    method = text(call.argument("method"))
    keeps = method is not None and method.lower() == "nearest"
    dtype: DType | None = data.type.dtype if keeps else FLOAT32 if method is not None else None
    size = integers(call.argument("size"))
    if size is None or len(size) != 2 or truth(call.argument("preserve_aspect_ratio")) is not False:
        return result(dtype, _sized(data.type.shape, None, None))
    return result(dtype, _sized(data.type.shape, size[0], size[1]))


def _bounded(call: BoundCall) -> Value:
    """`crop_to_bounding_box`: checks that the box lies in the image."""
    shape = _image(call).type.shape
    if shape is not None and len(shape) in (3, 4):
        for axis, offset, target in ((-3, "offset_height", "target_height"), (-2, "offset_width", "target_width")):
            size, low, length = shape[axis], integer(call.argument(offset)), integer(call.argument(target))
            if isinstance(size, int) and isinstance(low, int) and isinstance(length, int) and low + length > size:
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: a crop of {length} from {low} exceeds axis {axis} of an image of shape {format_shape(shape)}",
                    (target,),
                )
    return _target(call)


def _target(call: BoundCall) -> Value:
    data = _image(call)
    _check(call, data.type.shape)
    height, width = integer(call.argument("target_height")), integer(call.argument("target_width"))
    dtype = data.type.dtype
    if call.name.endswith("resize_with_pad"):
        dtype = FLOAT32 if text(call.argument("method")) not in (None, "nearest") else None
    return result(dtype, _sized(data.type.shape, height, width))


def _gray(call: BoundCall) -> Value:
    data = _image(call)
    shape = data.type.shape
    to_colour = call.name.endswith("grayscale_to_rgb")
    if to_colour and shape and isinstance(shape[-1], int) and shape[-1] != 1:
        raise OperationError(
            ErrorKind.SHAPE,
            f"image.grayscale_to_rgb: the last axis must have size 1 (shape {format_shape(shape)})",
            ("images",),
        )
    channels = 3 if to_colour else 1
    return result(data.type.dtype, None if not shape else (*shape[:-1], channels))


def _converted(call: BoundCall) -> Value:
    return result(tensor_dtype(call.argument("dtype")), _image(call).type.shape)


def _cropped(call: BoundCall) -> Value:
    """`random_crop`: a part of the given size of a tensor of any rank."""
    data = _image(call)
    shape, size = data.type.shape, shape_argument(call.argument("size"))
    if shape is not None and size is not None:
        if len(shape) != len(size):
            raise OperationError(
                ErrorKind.RANK,
                f"{call_name(call)}: a size of {len(size)} axes, {format_shape(size)}, for a value of shape {format_shape(shape)}",
                ("value", "size"),
            )
        for axis, (whole, part) in enumerate(zip(shape, size, strict=True)):
            if isinstance(whole, int) and isinstance(part, int) and part > whole:
                raise OperationError(
                    ErrorKind.SHAPE,
                    f"{call_name(call)}: size {format_shape(size)} is larger than the value of shape {format_shape(shape)} (axis {axis})",
                    ("value", "size"),
                )
    return result(data.type.dtype, size)


def _central(call: BoundCall) -> Value:
    data = _image(call)
    return result(data.type.dtype, _sized(data.type.shape, None, None))


def _rotated(call: BoundCall) -> Value:
    data = _image(call)
    turns = integer(call.argument("k"))
    shape = data.type.shape
    if shape is None or len(shape) not in (3, 4):
        return result(data.type.dtype, _sized(shape, None, None))
    if not isinstance(turns, int):
        # a square, for any number of turns; with a tensor as the number, the sizes are still open in a graph
        times = call.argument("k")
        is_python = isinstance(times, Scalar) and not is_symbolic_number(times)
        square = is_python and shape[-2] is not None and shape[-2] == shape[-3]
        return result(data.type.dtype, shape if square else _sized(shape, None, None))
    if turns % 2:
        return result(data.type.dtype, _sized(shape, shape[-2], shape[-3]))
    return result(data.type.dtype, shape)


def _transposed(call: BoundCall) -> Value:
    data = _image(call)
    shape = data.type.shape
    _check(call, shape)
    return result(data.type.dtype, None if shape is None else _sized(shape, shape[-2], shape[-3]))


def _crop_and_resize(call: BoundCall) -> Value:
    data, boxes = _image(call), operand(call.argument("boxes"))
    size = integers(call.argument("crop_size"))
    shape, rows = data.type.shape, boxes.type.shape
    count = rows[0] if rows else None
    height, width = size if size is not None and len(size) == 2 else (None, None)
    return result(FLOAT32, (count, height, width, None if shape is None or len(shape) != 4 else shape[3]))


def _patches(call: BoundCall) -> Value:
    data = _image(call)
    shape = data.type.shape
    sizes = integers(call.argument("sizes"))
    padding = text(call.argument("padding"))
    strides, rates = integers(call.argument("strides")), integers(call.argument("rates"))
    if (
        shape is None
        or len(shape) != 4
        or any(part is None or len(part) != 4 for part in (sizes, strides, rates))
        or padding is None
    ):
        return result(data.type.dtype, (None, None, None, None))
    assert sizes is not None and strides is not None and rates is not None
    found: list[Dim] = []
    for axis in (1, 2):
        size, stride = shape[axis], strides[axis]
        extent = add(multiply(subtract(sizes[axis], 1), rates[axis]), 1)
        if not isinstance(size, int) or not isinstance(stride, int) or not isinstance(extent, int) or stride <= 0:
            found.append(None)
        elif padding.upper() == "SAME":
            found.append(-(-size // stride))
        else:
            found.append(max(0, -(-(size - extent + 1) // stride)))
    depth = multiply(multiply(sizes[1], sizes[2]), shape[3])
    return result(data.type.dtype, (shape[0], found[0], found[1], depth))


def _per_image(call: BoundCall) -> Value:
    shape = _image(call).type.shape
    return result(FLOAT32, None if shape is None or len(shape) < 3 else shape[:-3])


def _standardized(call: BoundCall) -> Value:
    data = _image(call)
    _check(call, data.type.shape, tuple(range(3, 16)))
    dtype = data.type.dtype
    return result(dtype if dtype in FLOATING or dtype is None else FLOAT32, data.type.shape)


def _selected(call: BoundCall) -> Value:
    return result(INT32, (None,))


def _selected_of_classes(call: BoundCall) -> Value:
    """`combined_non_max_suppression`: boxes, scores, classes and their number, for each image."""
    boxes, scores = operand(call.argument("boxes")).type.shape, operand(call.argument("scores")).type.shape
    batch = boxes[0] if boxes else scores[0] if scores else None
    most = integer(call.argument("max_total_size"))
    if not is_none(call.argument("pad_per_class")) and call.argument("pad_per_class") != FALSE:
        each, classes = integer(call.argument("max_output_size_per_class")), scores[-1] if scores else None
        every = multiply(each, classes)
        most = min(most, every) if isinstance(most, int) and isinstance(every, int) else None
    return TupleValue(
        (
            result(FLOAT32, (batch, most, 4)),
            result(FLOAT32, (batch, most)),
            result(FLOAT32, (batch, most)),
            result(INT32, (batch,)),
        ),
        "CombinedNonMaxSuppression",
        ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    )


def _selected_with_scores(call: BoundCall) -> Value:
    return TupleValue((result(INT32, (None,)), result(FLOAT32, (None,))))


def _edges(call: BoundCall) -> Value:
    data = _image(call)
    return result(data.type.dtype, None if data.type.shape is None else (*data.type.shape, 2))


def _gradients(call: BoundCall) -> Value:
    data = _image(call)
    each = result(data.type.dtype, data.type.shape)
    return TupleValue((each, each))


_SAME: Final = (
    "adjust_brightness adjust_contrast adjust_hue adjust_saturation random_brightness random_contrast random_hue random_saturation "
    "hsv_to_rgb rgb_to_hsv rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb stateless_random_brightness stateless_random_contrast "
    "stateless_random_hue stateless_random_saturation adjust_jpeg_quality random_jpeg_quality draw_bounding_boxes"
)
_FLIPS: Final = (
    "flip_left_right flip_up_down random_flip_left_right random_flip_up_down stateless_random_flip_left_right "
    "stateless_random_flip_up_down"
)

RULES: Final[Mapping[str, OperationRule]] = table(
    {
        **{f"image.{name}": _same for name in _SAME.split()},
        **{f"image.{name}": _flipped for name in _FLIPS.split()},
        "image.resize": _resized,
        **{f"image.{name}": _target for name in ("pad_to_bounding_box", "resize_with_crop_or_pad", "resize_with_pad")},
        "image.crop_to_bounding_box": _bounded,
        "image.rgb_to_grayscale": _gray,
        "image.grayscale_to_rgb": _gray,
        "image.convert_image_dtype": _converted,
        "image.random_crop": _cropped,
        "image.stateless_random_crop": _cropped,
        "image.central_crop": _central,
        "image.rot90": _rotated,
        "image.transpose": _transposed,
        "image.crop_and_resize": _crop_and_resize,
        "image.extract_patches": _patches,
        "image.psnr": _per_image,
        "image.ssim": _per_image,
        "image.ssim_multiscale": _per_image,
        "image.per_image_standardization": _standardized,
        "image.non_max_suppression": _selected,
        "image.non_max_suppression_overlaps": _selected,
        "image.non_max_suppression_with_scores": _selected_with_scores,
        "image.combined_non_max_suppression": _selected_of_classes,
        "image.sobel_edges": _edges,
        "image.image_gradients": _gradients,
    }
)
