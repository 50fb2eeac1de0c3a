"""Rules for functions that change the form of tensors: reshape, transpose, squeeze, tile, pad, sort, ...

Computes: exact shapes if sizes are known or symbolic; contents of small integer tensors (sizes) are kept in casts.
Gives: `RULES`, together with those of `gathering` and `joining`. Source: `tf.*`, TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import (
    Dim,
    Truth,
    add,
    at_defaults,
    definitely_different,
    divide_exactly,
    format_dim,
    multiply,
    note_numbers_of_files,
)
from terra_refactor.domain.dtype import BOOL, FLOAT32, FLOAT64, FLOATING, INT32, INT64, INTEGER
from terra_refactor.domain.shape import Shape, compatible, element_count, format_shape, meet_shapes
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenList,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.arguments import (
    dtype_argument,
    elements,
    integer,
    integers,
    is_none,
    may_be_none,
    shape_argument,
)
from terra_refactor.tf_model.arguments import size as size_argument
from terra_refactor.tf_model.ops.contents import applied
from terra_refactor.tf_model.ops.conversion import operand, size_content, size_value
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.gathering import GATHERING
from terra_refactor.tf_model.ops.joining import JOINING, list_dtype
from terra_refactor.tf_model.ops.ragged import keeping_rows
from terra_refactor.tf_model.ops.results import argument, axes_of, call_name, normal_axis, primary, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.reshaping import reshaped
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _reshape(call: BoundCall) -> Value:
    data = primary(call)
    wanted = call.argument("shape")
    sizes = integers(wanted)
    if sizes is None and isinstance(integer(wanted), int):
        sizes = (integer(wanted),)
    if sizes is None and operand(wanted).known and operand(wanted).type.shape == ():
        # a single size creates a vector
        sizes = (None,)
    shape = reshaped(data.type.shape, sizes)
    content = data.content if data.type.shape == shape else None
    return result(data.type.dtype, shape, content)


def _transpose(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    perm = call.argument("perm")
    if is_none(perm):
        return result(
            data.type.dtype,
            None if shape is None else tuple(reversed(shape)),
            data.content if shape is not None and len(shape) < 2 else None,
        )
    order = integers(perm)
    if order is None:
        return result(data.type.dtype, None if shape is None else (None,) * len(shape))
    if shape is None:
        return result(data.type.dtype, (None,) * len(order))
    if len(order) != len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"transpose: perm names {len(order)} axes, shape {format_shape(shape)} has {len(shape)}",
            ("a", "perm"),
        )
    known = [axis for axis in order if isinstance(axis, int)]
    if len(known) < len(order):
        return result(data.type.dtype, (None,) * len(shape))
    positions = [normal_axis(call, axis, shape, "perm") for axis in known]
    if len(set(positions)) < len(positions):
        raise OperationError(ErrorKind.SHAPE, f"transpose: perm {known} names an axis twice", ("perm",))
    return result(data.type.dtype, tuple(shape[axis] for axis in positions))


def _expand_dims(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    axis = integer(argument(call, "axis", "dim"))
    if shape is None:
        return result(data.type.dtype)
    if not isinstance(axis, int):
        return result(data.type.dtype, (None,) * (len(shape) + 1))
    position = normal_axis(call, axis, shape, extra=1)
    content = TupleValue((data.content,)) if data.content is not None and position == 0 else None
    return result(data.type.dtype, (*shape[:position], 1, *shape[position:]), content)


def _squeeze(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    axis = argument(call, "axis", "squeeze_dims")
    if shape is None:
        return result(data.type.dtype)
    if axis is None or elements(axis) == ():
        if not all(isinstance(size, int) for size in shape):
            return result(data.type.dtype)
        return result(data.type.dtype, tuple(size for size in shape if size != 1))
    axes = axes_of(call, axis, shape)
    if axes is None:
        return result(data.type.dtype)
    for position in axes:
        if definitely_different(shape[position], 1):
            raise OperationError(
                ErrorKind.SHAPE,
                f"squeeze: axis {position} of shape {format_shape(shape)} has size {format_dim(shape[position])}, not 1",
                ("input", "axis"),
            )
    return result(data.type.dtype, tuple(size for position, size in enumerate(shape) if position not in axes))


def _tile(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    multiples = integers(call.argument("multiples"))
    if shape is None or multiples is None:
        rank = len(shape) if shape is not None else len(multiples) if multiples is not None else None
        return result(data.type.dtype, None if rank is None else (None,) * rank)
    if len(multiples) != len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"tile: {len(multiples)} multiples for shape {format_shape(shape)} of rank {len(shape)}",
            ("input", "multiples"),
        )
    return result(data.type.dtype, tuple(multiply(size, factor) for size, factor in zip(shape, multiples, strict=True)))


def _pad(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    paddings = call.argument("paddings")
    rows = elements(paddings)
    if rows is None and isinstance(paddings, TensorValue) and isinstance(paddings.content, TupleValue):
        rows = paddings.content.elements
    if rows is None:
        rank_of = operand(paddings).type.shape
        rank = rank_of[0] if rank_of else None
        length = len(shape) if shape is not None else rank if isinstance(rank, int) else None
        return result(data.type.dtype, None if length is None else (None,) * length)
    if shape is None:
        return result(data.type.dtype, (None,) * len(rows))
    if len(rows) != len(shape):
        raise OperationError(
            ErrorKind.RANK,
            f"pad: {len(rows)} pairs of paddings for shape {format_shape(shape)} of rank {len(shape)}",
            ("tensor", "paddings"),
        )
    padded: list[Dim] = []
    for size, row in zip(shape, rows, strict=True):
        pair = integers(row)
        if pair is not None and any(isinstance(part, int) and part < 0 for part in pair):
            raise OperationError(
                ErrorKind.SHAPE,
                f"pad: a padding of {min(part for part in pair if isinstance(part, int))}",
                ("paddings",),
            )
        padded.append(None if pair is None or len(pair) != 2 else add(size, add(pair[0], pair[1])))
    return result(data.type.dtype, tuple(padded))


def _cast(call: BoundCall) -> Value:
    data = primary(call)
    dtype = tensor_dtype(call.argument("dtype"))
    content = data.content if dtype in (INT32, INT64) and data.type.dtype in (INT32, INT64) else None
    if dtype in (FLOAT32, FLOAT64) and data.type.dtype in (INT32, INT64, FLOAT32, FLOAT64):
        content = applied(float, data.content, dtype)
    kind = (
        data.kind
        if data.kind in (TensorKind.RAGGED, TensorKind.SPARSE, TensorKind.INDEXED_SLICES)
        else TensorKind.TENSOR
    )
    assert kind is not None
    return TensorValue(TensorType(dtype, data.type.shape), kind, content)


def _same(call: BoundCall) -> Value:
    data = primary(call)
    kind = (
        data.kind
        if data.kind in (TensorKind.RAGGED, TensorKind.SPARSE, TensorKind.INDEXED_SLICES)
        else TensorKind.TENSOR
    )
    assert kind is not None
    return TensorValue(data.type, kind, data.content)


def _same_tensor(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _shape(call: BoundCall) -> Value:
    data = primary(call)
    wanted = call.argument("out_type")
    dtype = INT32 if is_none(wanted) else dtype_argument(wanted)
    shape = data.type.shape
    return result(dtype, (None,) if shape is None else (len(shape),), None if shape is None else size_content(shape))


def _size(call: BoundCall) -> Value:
    data = primary(call)
    wanted = call.argument("out_type")
    dtype = INT32 if is_none(wanted) else dtype_argument(wanted)
    return result(dtype, (), None if data.type.shape is None else size_value(element_count(data.type.shape)))


def _rank(call: BoundCall) -> Value:
    data = primary(call)
    return result(INT32, (), None if data.type.shape is None else Constant(len(data.type.shape)))


def _broadcast_to(call: BoundCall) -> Value:
    data = primary(call)
    target = shape_argument(call.argument("shape"))
    if target is None:
        return result(data.type.dtype)
    shape = data.type.shape
    if shape is None:
        return result(data.type.dtype, target)
    if len(shape) > len(target):
        raise OperationError(
            ErrorKind.RANK,
            f"broadcast_to: shape {format_shape(shape)} has more axes than {format_shape(target)}",
            ("input", "shape"),
        )
    for axis, (size, wanted) in enumerate(zip(reversed(shape), reversed(target), strict=False), 1):
        if definitely_different(size, wanted) and definitely_different(size, 1):
            raise OperationError(
                ErrorKind.SHAPE,
                f"broadcast_to: shape {format_shape(shape)} does not broadcast to {format_shape(target)} "
                f"(axis {-axis}: {format_dim(size)} and {format_dim(wanted)})",
                ("input", "shape"),
            )
    return result(data.type.dtype, target)


def _ensure_shape(call: BoundCall) -> Value:
    data = primary(call)
    wanted = shape_argument(call.argument("shape"))
    if compatible(data.type.shape, wanted) is Truth.NO:
        raise OperationError(
            ErrorKind.SHAPE,
            f"ensure_shape: a tensor of shape {format_shape(data.type.shape)} does not have shape {format_shape(wanted)}",
            ("x", "shape"),
        )
    return result(data.type.dtype, meet_shapes(data.type.shape, wanted), data.content)


def _reverse(call: BoundCall) -> Value:
    data = primary(call)
    if data.type.shape is not None:
        axes_of(call, call.argument("axis"), data.type.shape)
    return result(data.type.dtype, data.type.shape)


def _roll(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _repeat(call: BoundCall) -> Value:
    data = primary(call)
    axis_value = call.argument("axis")
    repeats = operand(call.argument("repeats"))
    factor = integer(call.argument("repeats")) if repeats.type.shape == () else None
    counts = integers(call.argument("repeats")) if repeats.type.shape not in (None, ()) else None
    total: Dim = None
    if counts is not None:
        total = 0
        for count in counts:
            total = add(total, count)
        if len(counts) == 1:
            factor, total = counts[0], None
    shape = data.type.shape
    if is_none(axis_value):
        if factor is not None and shape is not None:
            total = multiply(element_count(shape), factor)
        return result(data.type.dtype, (total,))
    axis = integer(axis_value)
    if may_be_none(axis_value):
        return result(data.type.dtype)
    if shape is None or not isinstance(axis, int):
        return result(data.type.dtype, None if shape is None else (None,) * len(shape))
    if not shape:
        return result(data.type.dtype)
    position = normal_axis(call, axis, shape)
    length = multiply(shape[position], factor) if factor is not None else total
    return result(data.type.dtype, (*shape[:position], length, *shape[position + 1 :]))


def _sort(call: BoundCall) -> Value:
    data = primary(call)
    axis = integer(call.argument("axis"))
    if data.type.shape is not None and isinstance(axis, int):
        normal_axis(call, axis, data.type.shape)
    return result(data.type.dtype, data.type.shape)


def _argsort(call: BoundCall) -> Value:
    data = primary(call)
    axis = integer(call.argument("axis"))
    if data.type.shape is not None and isinstance(axis, int):
        normal_axis(call, axis, data.type.shape)
    return result(INT32, data.type.shape)


def _unique(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    if shape is not None and len(shape) != 1:
        raise OperationError(
            ErrorKind.RANK, f"{call_name(call)}: x of shape {format_shape(shape)} is not a vector", ("x",)
        )
    wanted = call.argument("out_idx")
    index = INT32 if is_none(wanted) else dtype_argument(wanted)
    length = shape[0] if shape is not None else None
    values, places = result(data.type.dtype, (None,)), result(index, (length,))
    if call.name.endswith("with_counts"):
        return TupleValue((values, places, result(index, (None,))), "UniqueWithCounts", ("y", "idx", "count"))
    return TupleValue((values, places), "Unique", ("y", "idx"))


def _meshgrid(call: BoundCall) -> Value:
    vectors = [operand(value) for value in call.extra_arguments]
    if call.incomplete or not vectors:
        return UNKNOWN
    lengths = [element_count(part.type.shape) if part.type.shape is not None else None for part in vectors]
    indexing = call.extra_keywords.get("indexing")
    if indexing is None or indexing == Constant("xy"):
        if len(lengths) > 1:
            lengths[0], lengths[1] = lengths[1], lengths[0]
    elif indexing != Constant("ij"):
        lengths = [None] * len(lengths)
    dtype = list_dtype(call, vectors, "args")
    return FrozenList(tuple(result(dtype, tuple(lengths)) for _ in vectors))


def _sequence_mask(call: BoundCall) -> Value:
    lengths = operand(call.argument("lengths"))
    wanted = call.argument("dtype")
    dtype = BOOL if is_none(wanted) else dtype_argument(wanted)
    longest = call.argument("maxlen")
    size = None if is_none(longest) else integer(longest)
    shape = lengths.type.shape
    return result(dtype, None if shape is None else (*shape, size))


def _searchsorted(call: BoundCall) -> Value:
    values = operand(call.argument("values"))
    wanted = call.argument("out_type")
    return result(INT32 if is_none(wanted) else dtype_argument(wanted), values.type.shape)


def _dynamic_partition(call: BoundCall) -> Value:
    data, partitions = operand(call.argument("data")), operand(call.argument("partitions"))
    count = integer(call.argument("num_partitions"))
    shape, cut = data.type.shape, partitions.type.shape
    row: Shape = None
    if shape is not None and cut is not None:
        if len(cut) > len(shape) or any(definitely_different(a, b) for a, b in zip(shape, cut, strict=False)):
            raise OperationError(
                ErrorKind.SHAPE,
                f"dynamic_partition: partitions of shape {format_shape(cut)} is not a prefix of data of shape {format_shape(shape)}",
                ("data", "partitions"),
            )
        row = (None, *shape[len(cut) :])
    each = result(data.type.dtype, row)
    return FrozenList((each,) * count) if isinstance(count, int) and count <= 64 else FrozenList(None, each)


def _dynamic_stitch(call: BoundCall) -> Value:
    indices, data = elements(call.argument("indices")), elements(call.argument("data"))
    if not indices or not data or len(indices) != len(data):
        return result(None)
    index, first = operand(indices[0]).type.shape, operand(data[0]).type
    if index is None or first.shape is None:
        return result(first.dtype)
    return result(first.dtype, (None, *first.shape[len(index) :]))


def _reverse_sequence(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _broadcast_dynamic_shape(call: BoundCall) -> Value:
    left, right = integers(call.argument("shape_x")), integers(call.argument("shape_y"))
    if left is None or right is None:
        return result(INT32, (None,))
    shape = broadcast_shapes(left, right, "broadcast_dynamic_shape", ("shape_x", "shape_y"))
    assert shape is not None
    first = operand(call.argument("shape_x")).type.dtype
    return result(first if first in (INT32, INT64) else INT32, (len(shape),), size_content(shape))


def _block(call: BoundCall, *, to_depth: bool) -> Value:
    data = primary(call)
    block = size_argument(call.argument("block_size"))
    layout = call.argument("data_format")
    shape = data.type.shape
    if layout != Constant("NHWC"):
        return result(data.type.dtype)
    if shape is None:
        return result(data.type.dtype, (None, None, None, None))
    if len(shape) != 4:
        raise OperationError(
            ErrorKind.RANK, f"{call_name(call)}: shape {format_shape(shape)} does not have 4 axes", ("input",)
        )
    if block is None:
        return result(data.type.dtype, (shape[0], None, None, None))
    area = multiply(block, block)
    for axis, divisor in ((1, block), (2, block)) if to_depth else ((3, area),):
        if _is_no_multiple(shape[axis], divisor):
            raise OperationError(
                ErrorKind.SHAPE,
                f"{call_name(call)}: axis {axis} of shape {format_shape(shape)} is not a multiple of {format_dim(divisor)}",
                ("input", "block_size"),
            )
    if to_depth:
        return result(
            data.type.dtype,
            (shape[0], divide_exactly(shape[1], block), divide_exactly(shape[2], block), multiply(shape[3], area)),
        )
    return result(
        data.type.dtype,
        (shape[0], multiply(shape[1], block), multiply(shape[2], block), divide_exactly(shape[3], area)),
    )


def _is_no_multiple(size: Dim, divisor: Dim) -> bool:
    """Whether a size is certainly not divisible by another; if they are computed from options, in the run with all defaults."""
    one, other = at_defaults(size), at_defaults(divisor)
    note_numbers_of_files(size, divisor)
    return one is not None and other is not None and other > 0 and one % other != 0


def _bitcast(call: BoundCall) -> Value:
    data = primary(call)
    dtype = dtype_argument(call.argument("type"))
    bits = {
        name: int("".join(character for character in name if character.isdigit()) or 0) for name in FLOATING | INTEGER
    }
    same = dtype is not None and data.type.dtype is not None and bits.get(dtype) == bits.get(data.type.dtype, -1)
    return result(dtype, data.type.shape if same else None)


def _saturate_cast(call: BoundCall) -> Value:
    data = primary(call)
    return result(dtype_argument(call.argument("dtype")), data.type.shape)


RULES: Final[Mapping[str, OperationRule]] = {
    **GATHERING,
    **JOINING,
    **table(
        {
            "reshape": _reshape,
            "transpose": _transpose,
            "expand_dims": _expand_dims,
            "squeeze": _squeeze,
            "tile": _tile,
            "pad": _pad,
            "shape": _shape,
            "size": _size,
            "rank": _rank,
            "broadcast_to": _broadcast_to,
            "ensure_shape": _ensure_shape,
            "roll": _roll,
            "repeat": _repeat,
            "sort": _sort,
            "argsort": _argsort,
            "unique": _unique,
            "unique_with_counts": _unique,
            "meshgrid": _meshgrid,
            "sequence_mask": _sequence_mask,
            "searchsorted": _searchsorted,
            "dynamic_partition": _dynamic_partition,
            "dynamic_stitch": _dynamic_stitch,
            "reverse_sequence": _reverse_sequence,
            "broadcast_dynamic_shape": _broadcast_dynamic_shape,
            "nn.space_to_depth": lambda call: _block(call, to_depth=True),
            "nn.depth_to_space": lambda call: _block(call, to_depth=False),
            "bitcast": _bitcast,
            "dtypes.saturate_cast": _saturate_cast,
            "debugging.check_numerics": _same_tensor,
            "guarantee_const": _same_tensor,
        }
    ),
    "tensorflow.reverse": keeping_rows(_reverse, "tensor"),
    "tensorflow.identity": _same,
    "tensorflow.stop_gradient": _same,
    "tensorflow.cast": _cast,
}
