"""NumPy functions that reshape, join, split, sort and select, and the equivalent methods of ndarrays.

Computes: output types. Gives: `RULES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, definitely_equal, multiply, subtract
from terra_refactor.domain.dtype import BOOL, FLOAT64, INT64, INTEGER, DType
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.shape import element_count
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    FrozenList,
    PythonType,
    Scalar,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.numpy_api.arrays import (
    array,
    array_operand,
    array_result,
    broadcast_all,
    content_of,
    mean_dtype,
    promoted_strong,
)
from terra_refactor.tf_model.numpy_api.joining import ARRAY_JOINING, at_least_rank
from terra_refactor.tf_model.ops.conversion import size_value
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _source(call: BoundCall) -> Value | None:
    """The array argument of a function, or the receiver of the method."""
    if call.receiver is not None:
        return call.receiver
    return read.first_of(call, "a", "x", "m", "arr", "ary", "array", "v", "A", "object", "ar")


def _name(call: BoundCall) -> str:
    return call.name.rpartition(".")[2]


def _axes(value: Value | None) -> tuple[int, ...] | None:
    """Axes given as an int or a tuple; None if unknown."""
    listed = read.integers(value)
    if listed is None:
        single = read.known_integer(value)
        return None if single is None else (single,)
    known = tuple(axis for axis in listed if isinstance(axis, int))
    return known if len(known) == len(listed) else None


def _sizes(value: Value | None) -> tuple[Dim, ...] | None:
    """Sizes given as an int or a tuple; None if their number is unknown."""
    listed = read.integers(value)
    if listed is not None:
        return listed
    if isinstance(value, Constant | Scalar) or (isinstance(value, TensorValue) and value.type.shape == ()):
        return (read.integer(value),)
    return None


def _reshape(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    if call.receiver is None:
        wanted = call.argument("shape") or call.argument("newshape") or call.extra_keywords.get("newshape")
        target = _sizes(wanted)
    else:
        if call.incomplete:
            return array(given.dtype, None)
        parts = call.extra_arguments
        keyword = call.argument("shape")
        if not parts and keyword is not None:
            target = _sizes(keyword)
        elif len(parts) == 1:
            target = _sizes(parts[0])
        else:
            target = tuple(read.size(part) for part in parts)
    if target is None:
        return array(given.dtype, None)
    shape = shapes.reshaped_array("reshape", given.shape, target)
    source = _source(call)
    content = (
        content_of(source)
        if shape is not None and given.shape is not None and shapes.same_sizes(shape, given.shape)
        else None
    )
    return array(given.dtype, shape, content)


def _flat(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    return array(given.dtype, (None if given.shape is None else element_count(given.shape),))


def _transpose(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    if call.receiver is not None:
        parts = call.extra_arguments
        if call.incomplete:
            return array(given.dtype, None)
        if not parts or (len(parts) == 1 and read.is_none(parts[0])):
            order: tuple[Dim, ...] | None = None
        else:
            order = _sizes(parts[0]) if len(parts) == 1 else tuple(read.integer(part) for part in parts)
            if order is None:
                return array(given.dtype, None)
    else:
        axes = call.argument("axes")
        order = None if read.is_none(axes) else read.integers(axes)
        if order is None and not read.is_none(axes):
            return array(given.dtype, None)
    return array(given.dtype, shapes.transposed("transpose", given.shape, order))


def _swap(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    first, second = read.known_integer(call.argument("axis1")), read.known_integer(call.argument("axis2"))
    if given.shape is None or first is None or second is None:
        return array(given.dtype, None if given.shape is None else (None,) * len(given.shape))
    one, two = (shapes.normal_array_axis("swapaxes", axis, given.shape) for axis in (first, second))
    sizes = list(given.shape)
    sizes[one], sizes[two] = sizes[two], sizes[one]
    return array(given.dtype, tuple(sizes))


def _move(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    source, destination = _axes(call.argument("source")), _axes(call.argument("destination"))
    if given.shape is None or source is None or destination is None or len(source) != len(destination):
        return array(given.dtype, None if given.shape is None else (None,) * len(given.shape))
    rank = len(given.shape)
    origins = [shapes.normal_array_axis("moveaxis", axis, given.shape) for axis in source]
    places = [shapes.normal_array_axis("moveaxis", axis, given.shape) for axis in destination]
    order = [axis for axis in range(rank) if axis not in origins]
    for place, origin in sorted(zip(places, origins, strict=True)):
        order.insert(place, origin)
    return array(given.dtype, tuple(given.shape[axis] for axis in order))


def _expand(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    axes = _axes(call.argument("axis"))
    return array(given.dtype, None if axes is None else shapes.expanded("expand_dims", given.shape, axes))


def _squeeze(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    axis = call.argument("axis")
    axes = None if read.is_none(axis) else _axes(axis)
    if axes is None and not read.is_none(axis):
        return array(given.dtype, None)
    return array(given.dtype, shapes.squeezed("squeeze", given.shape, axes))


def _raise_rank(rank: int) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        if call.incomplete or len(call.extra_arguments) != 1:
            return UNKNOWN
        given = array_operand(call.extra_arguments[0]).type
        return array(given.dtype, at_least_rank(rank, given.shape))

    return rule


def _split(call: BoundCall) -> Value:
    """`numpy.split`, `array_split`: a list of arrays."""
    given = array_operand(_source(call)).type
    sections = call.argument("indices_or_sections")
    axis = 0 if call.argument("axis") is None else read.known_integer(call.argument("axis"))
    unknown = FrozenList(None, array(given.dtype, None if given.shape is None else (None,) * len(given.shape)))
    if given.shape is None or axis is None:
        count = read.known_integer(sections) if not read.is_sequence(sections) else None
        if count is not None and 0 < count <= 64:
            return FrozenList(
                (array(given.dtype, unknown.element.type.shape if isinstance(unknown.element, TensorValue) else None),)
                * count
            )
        return unknown
    place = shapes.normal_array_axis(_name(call), axis, given.shape)
    size = given.shape[place]

    def part(length: Dim) -> Value:
        assert given.shape is not None
        return array(given.dtype, (*given.shape[:place], length, *given.shape[place + 1 :]))

    bounds = read.integers(sections)
    if bounds is not None:
        edges: list[Dim] = [0, *bounds, size]
        parts: list[Value] = []
        for low, high in itertools.pairwise(edges):
            if isinstance(low, int) and isinstance(high, int) and isinstance(size, int) and low >= 0 and high >= 0:
                parts.append(part(max(min(high, size) - min(low, size), 0)))
            else:
                parts.append(part(None))
        return FrozenList(tuple(parts))
    count = read.known_integer(sections)
    if count is None or not 0 < count <= 64:
        return unknown
    if _name(call) == "array_split":
        if not isinstance(size, int):
            return FrozenList((part(None),) * count)
        return FrozenList(tuple(part(size // count + (1 if index < size % count else 0)) for index in range(count)))
    return FrozenList((part(shapes.split_sizes("split", size, count)),) * count)


def _repeat(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    repeats = read.integer(call.argument("repeats"))
    axis = call.argument("axis")
    if read.is_none(axis):
        return array(given.dtype, (None if given.shape is None else multiply(element_count(given.shape), repeats),))
    if read.may_be_none(axis):
        return array(given.dtype, None)
    place = read.known_integer(axis)
    if not given.shape or place is None:
        return array(given.dtype, (None,) * len(given.shape) if given.shape else None)
    place = shapes.normal_array_axis("repeat", place, given.shape)
    return array(given.dtype, (*given.shape[:place], multiply(given.shape[place], repeats), *given.shape[place + 1 :]))


def _tile(call: BoundCall) -> Value:
    given = array_operand(call.argument("A")).type
    return array(given.dtype, shapes.tiled(given.shape, _sizes(call.argument("reps"))))


def _broadcast_to(call: BoundCall) -> Value:
    given = array_operand(call.argument("array")).type
    return array(given.dtype, _sizes(call.argument("shape")))


def _broadcast_arrays(call: BoundCall) -> Value:
    if call.incomplete:
        return UNKNOWN
    parts = [array_operand(value).type for value in call.extra_arguments]
    shape = broadcast_all("broadcast_arrays", [part.shape for part in parts])
    return TupleValue(tuple(array(part.dtype, shape) for part in parts))


def _broadcast_shapes(call: BoundCall) -> Value:
    if call.incomplete:
        return UNKNOWN
    shape = broadcast_all("broadcast_shapes", [_sizes(value) for value in call.extra_arguments])
    return UNKNOWN if shape is None else TupleValue(tuple(size_value(size) for size in shape))


def _pad(call: BoundCall) -> Value:
    given = array_operand(call.argument("array")).type
    width = call.argument("pad_width")
    if given.shape is None:
        return array(given.dtype, None)
    rank = len(given.shape)
    pairs: list[tuple[Dim, Dim]] | None = None
    single = read.integer(width)
    rows = read.elements(width)
    if rows is None and isinstance(width, Constant | Scalar):
        pairs = [(single, single)] * rank
    elif rows is not None:
        parsed = [_sizes(row) if read.is_sequence(row) else None for row in rows]
        if all(row is None for row in parsed) and len(rows) == 2:
            pairs = [(read.integer(rows[0]), read.integer(rows[1]))] * rank
        elif len(rows) in (1, rank) and all(row is not None and len(row) == 2 for row in parsed):
            known = [(row[0], row[1]) for row in parsed if row is not None]
            pairs = known * rank if len(known) == 1 else known
    if pairs is None:
        return array(given.dtype, (None,) * rank)
    return array(
        given.dtype, tuple(add(add(size, low), high) for size, (low, high) in zip(given.shape, pairs, strict=True))
    )


def _same(call: BoundCall) -> Value:
    """Functions that keep shape and dtype: `flip`, `roll`, ..."""
    given = array_operand(_source(call)).type
    return UNKNOWN if given.shape == () else array(given.dtype, given.shape)


def _triangle(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    if given.shape is not None and len(given.shape) == 1:
        return array(given.dtype, (given.shape[0], given.shape[0]))
    return array(given.dtype, given.shape or None)


def _order(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    axis = call.argument("axis")
    if axis is not None and read.is_none(axis):
        return array(INT64, (None if given.shape is None else element_count(given.shape),))
    return array(INT64, given.shape if given.shape != () else None)


def _sort(call: BoundCall) -> Value:
    if call.receiver is not None:
        return NONE
    given = array_operand(_source(call)).type
    axis = call.argument("axis")
    if axis is not None and read.is_none(axis):
        return array(given.dtype, (None if given.shape is None else element_count(given.shape),))
    return array(given.dtype, given.shape)


def _take(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    chosen = array_operand(call.argument("indices")).type.shape
    axis = call.argument("axis")
    if read.is_none(axis):
        return array_result(given.dtype, chosen)
    place = read.known_integer(axis)
    if given.shape is None or place is None or chosen is None:
        return array(given.dtype, None)
    place = shapes.normal_array_axis("take", place, given.shape)
    return array_result(given.dtype, (*given.shape[:place], *chosen, *given.shape[place + 1 :]))


def _take_along_axis(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    chosen = array_operand(call.argument("indices")).type.shape
    axis = read.known_integer(call.argument("axis"))
    if given.shape is None or chosen is None or axis is None or len(given.shape) != len(chosen):
        return array(given.dtype, None)
    place = shapes.normal_array_axis("take_along_axis", axis, given.shape)
    sizes = broadcast_all(
        "take_along_axis", [given.shape[:place] + given.shape[place + 1 :], chosen[:place] + chosen[place + 1 :]]
    )
    return array(given.dtype, None if sizes is None else (*sizes[:place], chosen[place], *sizes[place:]))


def _unique(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    axis = call.argument("axis")
    if read.is_none(axis):
        values = array(given.dtype, (None,))
    elif read.may_be_none(axis) or given.shape is None:
        values = array(given.dtype, None)
    else:
        values = array(given.dtype, (None,) * len(given.shape))
    flags = [call.argument(name) for name in ("return_index", "return_inverse", "return_counts")]
    if any(flag is not None and read.truth(flag) is None for flag in flags):
        return UNKNOWN
    extra = [
        array(INT64, (None,) if name != "inverse" else given.shape if given.shape and len(given.shape) == 1 else None)
        for name, flag in zip(("index", "inverse", "counts"), flags, strict=True)
        if flag is not None and read.truth(flag)
    ]
    return TupleValue((values, *extra)) if extra else values


def _nonzero(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    return UNKNOWN if given.shape is None else TupleValue((array(INT64, (None,)),) * max(len(given.shape), 1))


def _argwhere(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    return array(INT64, (None, None if given.shape is None else len(given.shape)))


def _vector(dtype: DType | None) -> OperationRule:
    return lambda call: array(dtype, (None,))


def _set_operation(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("ar1")).type, array_operand(call.argument("ar2")).type
    return array(promoted_strong([left.dtype, right.dtype]) if _name(call) != "setdiff1d" else left.dtype, (None,))


def _diag(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    offset = 0 if call.argument("k") is None else read.known_integer(call.argument("k"))
    if given.shape is None or offset is None:
        return array(given.dtype, None)
    if len(given.shape) == 1:
        size = add(given.shape[0], abs(offset))
        return array(given.dtype, (size, size))
    if len(given.shape) == 2:
        return array(given.dtype, (_diagonal_size(given.shape[0], given.shape[1], offset),))
    return array(given.dtype, None)


def _diagonal_size(rows: Dim, columns: Dim, offset: int) -> Dim:
    if isinstance(rows, int) and isinstance(columns, int):
        return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    return rows if offset == 0 and definitely_equal(rows, columns) else None


def _diagonal(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    offset = 0 if call.argument("offset") is None else read.known_integer(call.argument("offset"))
    first = 0 if call.argument("axis1") is None else read.known_integer(call.argument("axis1"))
    second = 1 if call.argument("axis2") is None else read.known_integer(call.argument("axis2"))
    if given.shape is None or len(given.shape) < 2 or offset is None or first is None or second is None:
        return array(given.dtype, None)
    one, two = (shapes.normal_array_axis(_name(call), axis, given.shape) for axis in (first, second))
    rest = tuple(size for axis, size in enumerate(given.shape) if axis not in (one, two))
    if _name(call) == "trace":
        return array_result(None if given.dtype in INTEGER or given.dtype == BOOL else given.dtype, rest)
    return array(given.dtype, (*rest, _diagonal_size(given.shape[one], given.shape[two], offset)))


def _diff(call: BoundCall) -> Value:
    given = array_operand(_source(call)).type
    order = 1 if call.argument("n") is None else read.known_integer(call.argument("n"))
    axis = -1 if call.argument("axis") is None else read.known_integer(call.argument("axis"))
    if given.shape is None or order is None or axis is None or call.argument("prepend") or call.argument("append"):
        return array(None if given.dtype == BOOL else given.dtype, None)
    place = shapes.normal_array_axis("diff", axis, given.shape)
    size = subtract(given.shape[place], order)
    if isinstance(size, int):
        size = max(size, 0)
    return array(given.dtype, (*given.shape[:place], size, *given.shape[place + 1 :]))


def _insert_delete(change: int) -> OperationRule:
    """`np.insert` and `np.delete`: with a single index the size changes by one, if an axis is given."""

    def rule(call: BoundCall) -> Value:
        given = array_operand(_source(call)).type
        if read.is_none(call.argument("axis")):
            return array(given.dtype, (None,))
        axis, shape = read.known_integer(call.argument("axis")), given.shape
        if shape is None or axis is None or not -len(shape) <= axis < len(shape):
            return array(given.dtype, None if shape is None else (None,) * len(shape))
        is_one = _is_of(call.argument("obj"), PythonType.INT)
        is_number = change < 0 or _is_of(call.argument("values"), PythonType.INT, PythonType.FLOAT)
        sizes = list(shape)
        sizes[axis] = add(sizes[axis], change) if is_one and is_number else None
        return array(given.dtype, tuple(sizes))

    return rule


def _is_of(value: Value | None, *types: PythonType) -> bool:
    return value is not None and python_type(value) in types


def _append(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("arr")), array_operand(call.argument("values"))
    dtype = promoted_strong([left.type.dtype, right.type.dtype])
    axis = call.argument("axis")
    if read.is_none(axis):
        sizes = [None if item.type.shape is None else element_count(item.type.shape) for item in (left, right)]
        return array(dtype, (add(sizes[0], sizes[1]),))
    if read.may_be_none(axis):
        return array(dtype, None)
    return array(
        dtype, shapes.concatenated_arrays("append", [left.type.shape, right.type.shape], read.known_integer(axis))
    )


def _searchsorted(call: BoundCall) -> Value:
    return array_result(INT64, array_operand(call.argument("v")).type.shape)


def _digitize(call: BoundCall) -> Value:
    return array_result(INT64, array_operand(call.argument("x")).type.shape)


def _bincount(call: BoundCall) -> Value:
    weights = call.argument("weights")
    if read.is_none(weights):
        return array(INT64, (None,))
    return array(None if read.may_be_none(weights) else FLOAT64, (None,))


def _histogram(call: BoundCall) -> Value:
    bins = call.argument("bins")
    count: Dim = 10 if bins is None else read.integer(bins)
    return TupleValue((array(None, (count,)), array(None, (add(count, 1),))))


def _size(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    if not read.is_none(call.argument("axis")) or given.shape is None:
        return Scalar(PythonType.INT)
    return size_value(element_count(given.shape))


def _rank(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    return Scalar(PythonType.INT) if given.shape is None else Constant(len(given.shape))


def _shape(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    return UNKNOWN if given.shape is None else TupleValue(tuple(size_value(size) for size in given.shape))


def _truth(call: BoundCall) -> Value:
    return UNKNOWN_BOOL


def _text(call: BoundCall) -> Value:
    return Scalar(PythonType.STR)


def _covariance(call: BoundCall) -> Value:
    given = array_operand(call.argument("m") or call.argument("x")).type
    if given.shape is None or len(given.shape) != 2 or not read.is_none(call.argument("y")):
        return array(None, None)
    by_row = call.argument("rowvar")
    rows = True if by_row is None else read.truth(by_row)
    if rows is None:
        return array(None, None)
    size = given.shape[0 if rows else 1]
    if size == 1:
        return array(None, ())
    return array(
        FLOAT64 if mean_dtype(given.dtype) == FLOAT64 else None, (size, size) if isinstance(size, int) else None
    )


def _interp(call: BoundCall) -> Value:
    return array_result(FLOAT64, array_operand(call.argument("x")).type.shape)


def _convolve(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")), array_operand(call.argument("v"))
    return array(promoted_strong([left.type.dtype, right.type.dtype]), (None,))


_SAME: Final = ["flip", "fliplr", "flipud", "roll", "partition"]

_FUNCTIONS: Final[Mapping[str, OperationRule]] = {
    **ARRAY_JOINING,
    "reshape": _reshape,
    "ravel": _flat,
    "transpose": _transpose,
    "swapaxes": _swap,
    "moveaxis": _move,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "atleast_1d": _raise_rank(1),
    "atleast_2d": _raise_rank(2),
    "atleast_3d": _raise_rank(3),
    "split": _split,
    "array_split": _split,
    "repeat": _repeat,
    "tile": _tile,
    "broadcast_to": _broadcast_to,
    "broadcast_arrays": _broadcast_arrays,
    "broadcast_shapes": _broadcast_shapes,
    "pad": _pad,
    "argsort": _order,
    "argpartition": _order,
    "sort": _sort,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "unique": _unique,
    "nonzero": _nonzero,
    "argwhere": _argwhere,
    "flatnonzero": _vector(INT64),
    "diag": _diag,
    "diagonal": _diagonal,
    "trace": _diagonal,
    "tril": _triangle,
    "triu": _triangle,
    "diff": _diff,
    "append": _append,
    "delete": _insert_delete(-1),
    "insert": _insert_delete(1),
    "searchsorted": _searchsorted,
    "digitize": _digitize,
    "bincount": _bincount,
    "histogram": _histogram,
    "size": _size,
    "ndim": _rank,
    "shape": _shape,
    "allclose": _truth,
    "array_equal": _truth,
    "isscalar": _truth,
    "iterable": _truth,
    "issubdtype": _truth,
    "cov": _covariance,
    "corrcoef": _covariance,
    "interp": _interp,
    "convolve": _convolve,
    "array2string": _text,
    "setdiff1d": _set_operation,
    "intersect1d": _set_operation,
    "union1d": _set_operation,
    **dict.fromkeys(_SAME, _same),
}
_METHODS: Final = (
    "reshape",
    "ravel",
    "transpose",
    "swapaxes",
    "squeeze",
    "argsort",
    "sort",
    "take",
    "nonzero",
    "diagonal",
    "trace",
    "repeat",
    "searchsorted",
)

RULES: Final[Mapping[str, OperationRule]] = {
    **{f"numpy.{name}": rule for name, rule in _FUNCTIONS.items()},
    **{f"numpy.ndarray.{name}": _FUNCTIONS[name] for name in _METHODS},
}
