"""The result of a library function while a graph is traced: its open sizes, ranks and contents.

Shape rules compute sizes, including open ones, from the sizes and contents of their arguments; this module adds sizes
that are open because of the function itself, or because of contents that a rule does not handle.

Needs: a call and the result of its rule. Gives: `result_of`, and `is_lost`, `LOSES_RANK` for the rest of `tf_model`.
Source: TensorFlow's shape functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import OpenDim, Why, as_open, eager, opened, roots_of
from terra_refactor.domain.lattice import dim_of
from terra_refactor.domain.roots import EVERYWHERE, Traced
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import (
    content_roots,
    first_roots,
    has_open_size,
    open_number,
    whole_content_roots,
    with_content_open,
    with_first_open,
    with_marks_of,
    without_marks,
)
from terra_refactor.domain.value import (
    Constant,
    FrozenList,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.arguments import map_structure
from terra_refactor.tf_model.ops.math import ELEMENTWISE_OPERATIONS, REDUCTIONS
from terra_refactor.tf_model.spec import BoundCall, Entity, OperationError, Trait

LOSES_RANK: Final = frozenset(
    {
        "tensorflow.compat.v1.py_func",
        "tensorflow.io.decode_image",
        "tensorflow.io.parse_tensor",
        "tensorflow.numpy_function",
        "tensorflow.lookup.experimental.DenseHashTable.export",
        "tensorflow.lookup.experimental.MutableHashTable.export",
        "tensorflow.py_function",
        # their shapes are the content of a tensor
        *("tensorflow.sparse.reduce_max", "tensorflow.sparse.reduce_sum"),
    }
)
"""Functions for whose results a graph does not know even the rank."""
_DEQUEUE: Final = "tensorflow.queue.QueueBase.dequeue"
"""A queue knows the shapes of its elements if they are passed to its constructor."""
_KEEPS_RANK: Final = frozenset(
    {"tensorflow.cast", "tensorflow.compat.v1.to_float", "tensorflow.identity", "tensorflow.image.convert_image_dtype"}
)
_FIRST: Final = frozenset(
    {
        *("tensorflow.boolean_mask", "tensorflow.dynamic_partition", "tensorflow.image.non_max_suppression"),
        *("tensorflow.image.non_max_suppression_with_scores", "tensorflow.unique", "tensorflow.unique_with_counts"),
        *("tensorflow.nn.safe_embedding_lookup_sparse", "tensorflow.sparse.fill_empty_rows"),
        *("tensorflow.math.segment_sum", "tensorflow.math.segment_mean", "tensorflow.math.segment_max"),
        *("tensorflow.math.segment_min", "tensorflow.math.segment_prod"),
    }
)
"""Operations whose result has a first size that a graph never knows."""
_IMAGES: Final = frozenset(
    {
        *("tensorflow.io.decode_png", "tensorflow.io.decode_jpeg", "tensorflow.io.decode_bmp"),
        "tensorflow.io.decode_and_crop_jpeg",
    }
)
"""Operations that read an image, whose height and width depend on the file."""
_SHAPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tensorflow.zeros", "tensorflow.ones", "tensorflow.reshape", "tensorflow.broadcast_to"), "shape"),
    **dict.fromkeys(
        (f"tensorflow.random.{name}" for name in ("normal", "uniform", "truncated_normal", "gamma")), "shape"
    ),
    **dict.fromkeys(
        (f"tensorflow.random.stateless_{name}" for name in ("normal", "uniform", "truncated_normal")), "shape"
    ),
    "tensorflow.scatter_nd": "shape",
    "tensorflow.fill": "dims",
    "tensorflow.slice": "size",
    "tensorflow.tile": "multiples",
}
"""Operations for which an argument gives, or changes, each size of the result."""
_SIZES: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "tensorflow.range": (0, ("start", "limit", "delta")),
    "tensorflow.linspace": (0, ("num",)),
    "tensorflow.one_hot": (-1, ("depth",)),
    "tensorflow.math.top_k": (-1, ("k",)),
    "tensorflow.signal.frame": (-1, ("frame_length",)),
    "tensorflow.math.unsorted_segment_sum": (0, ("num_segments",)),
    "tensorflow.math.unsorted_segment_mean": (0, ("num_segments",)),
    "tensorflow.math.unsorted_segment_max": (0, ("num_segments",)),
}
"""Operations for which an argument gives one size of the result."""
_OF_NUMBERS: Final = frozenset(f"builtins.{name}" for name in ("abs", "max", "min", "pow", "round", "divmod"))
"""Functions that compute a number from their number arguments."""
_OF_SHAPES: Final = frozenset({"tensorflow.shape", "tensorflow.size"})
_SAME_CONTENT: Final = frozenset(
    {
        *("tensorflow.zeros_like", "tensorflow.ones_like", "tensorflow.zeros", "tensorflow.ones", "tensorflow.rank"),
        *_OF_SHAPES,
    }
)
"""Operations whose content follows from shapes and constants."""
_GATHERS: Final = ("tensorflow.gather", "tensorflow.gather_nd")
_SPECIAL: Final = frozenset(
    {
        *LOSES_RANK,
        _DEQUEUE,
        *_KEEPS_RANK,
        *_FIRST,
        *_IMAGES,
        *_OF_SHAPES,
        *_OF_NUMBERS,
        *("tensorflow.where", "tensorflow.RaggedTensor.to_tensor", "tensorflow.strings.split"),
        *("tensorflow.io.decode_raw", "tensorflow.repeat", "tensorflow.concat"),
        *_GATHERS,
    }
)


def is_lost(value: Value | None) -> bool:
    """Whether it is a tensor whose rank a graph does not know."""
    return isinstance(value, TensorValue) and value.traced.rank != 0


def result_of(entity: Entity, call: BoundCall) -> Value:
    """The result of a library function, with both views. Raises OperationError if it certainly fails."""
    return _with_own_marks(entity, call, _computed(entity, call))


def _computed(entity: Entity, call: BoundCall) -> Value:
    """The result of the function's rule.

    If sizes are open, the eager view is computed without marks: a rule may test for an int or for None, and must find
    the same as without marks.
    """
    rule = entity.rule
    assert rule is not None
    invoked = False

    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        nonlocal invoked
        invoked = True
        return call.invoke(function, arguments, graph=graph)

    marked: Value | None = None
    try:
        marked = rule(replace(call, invoke=invoke))
    except OperationError:
        if invoked or not _is_open(call):
            raise
    if marked is not None and (invoked or not (has_open_size(marked) or _is_open(call))):
        return marked
    result = rule(_eagerly(call))
    return result if marked is None else with_marks_of(result, marked)


def _given(call: BoundCall) -> list[Value]:
    given = [*call.arguments.values(), *call.extra_arguments, *call.extra_keywords.values()]
    if call.receiver is not None:
        given.append(call.receiver)
    return given


def _is_open(call: BoundCall) -> bool:
    return any(map(has_open_size, _given(call)))


def _eagerly(call: BoundCall) -> BoundCall:
    """The call as in eager code."""
    return replace(
        call,
        arguments={name: without_marks(value) for name, value in call.arguments.items()},
        extra_arguments=tuple(map(without_marks, call.extra_arguments)),
        extra_keywords={name: without_marks(value) for name, value in call.extra_keywords.items()},
        receiver=None if call.receiver is None else without_marks(call.receiver),
    )


def _with_own_marks(entity: Entity, call: BoundCall, result: Value) -> Value:
    """The result, with marks for sizes and contents that are open because of the function itself, or because of its
    arguments' contents.
    """
    name = entity.name
    given = _given(call)
    roots = EVERYWHERE if name.startswith("tensorflow.random.") else 0
    for argument in given:
        roots |= content_roots(argument)
    if name not in _SPECIAL and not roots:
        return result
    result = _with_open_sizes(name, call, result)
    if name in _OF_NUMBERS:
        return _open_number(result, given)
    if name in _OF_SHAPES:
        return result if _has_content(result) else with_content_open(result, _roots_of_shape(next(iter(given), None)))
    if name in _SAME_CONTENT or not (Trait.TENSOR_OPERATION in entity.traits or is_call_of_layer(name)):
        return result
    if _has_content(result):
        # its elements have their own marks, except for an open list as a whole
        roots = EVERYWHERE if name.startswith("tensorflow.random.") else 0
        for argument in given:
            roots |= whole_content_roots(argument)
    return with_content_open(result, roots)


def is_call_of_layer(name: str) -> bool:
    """Whether a library function is the call of a layer or model, which runs its `call`."""
    return name.startswith("keras.") and name.endswith("__call__")


def _has_content(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.content is not None


def _open_number(result: Value, given: Sequence[Value]) -> Value:
    """A number that is computed from sizes: open if one of these is."""
    for argument in given:
        size = argument.dim if isinstance(argument, Scalar) else open_number(argument)
        number = isinstance(result, Constant) and type(result.value) is int
        if isinstance(size, OpenDim) and (number or (isinstance(result, Scalar) and result.type is PythonType.INT)):
            dim = opened(as_open(dim_of(result), size), size.roots, size.why, is_tensor=size.is_tensor)
            result = replace(result, dim=dim) if isinstance(result, Scalar) else Scalar(PythonType.INT, dim)
    return result


def _roots_of_shape(value: Value | None) -> int:
    if not isinstance(value, TensorValue):
        return 0
    found = value.traced.first | value.traced.rank
    for dim in value.type.shape or ():
        found |= roots_of(dim)
    return found


def _roots_of_first(value: Value | None) -> int:
    """The graphs for which the first size of a tensor is open."""
    if not isinstance(value, TensorValue):
        return 0
    return roots_of(value.type.shape[0]) if value.type.shape else value.traced.first


def _lacks_rank(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.type.shape is None


def _with_first_of(result: Value, *given: Value | None) -> Value:
    """A result of unknown rank whose first size is open where one of these first sizes is."""
    roots = 0
    for value in given if _lacks_rank(result) else ():
        roots |= _roots_of_first(value)
    return _with_open_axes(result, (0,), roots)


def _with_open_sizes(name: str, call: BoundCall, result: Value) -> Value:
    """The result with open sizes where the function, or its arguments, leave the size unknown during a trace."""
    argument = call.argument
    if name in LOSES_RANK:
        animation = argument("expand_animations") if name == "tensorflow.io.decode_image" else None
        if animation is not None and animation != Constant(True):
            return _with_open_axes(result, (0, 1), EVERYWHERE)
        return map_structure(without_rank, result)
    if name == _DEQUEUE:
        return map_structure(without_rank, result) if read.is_none(call.configuration.get("shapes")) else result
    if name in _KEEPS_RANK:
        return map_structure(without_rank, result) if any(map(is_lost, call.arguments.values())) else result
    if name in _FIRST or (name == "tensorflow.where" and read.is_none(argument("x"))):
        if not read.is_none(argument("axis")):
            along = read.known_integer(argument("axis"))
            return result if along is None else _with_open_axes(result, (along,), EVERYWHERE)
        if "unique" in name and isinstance(result, TupleValue):
            # the second result has an element for each one searched
            return replace(
                result,
                elements=tuple(
                    part if place == 1 else with_first_open(part, EVERYWHERE, Why.CONTENT)
                    for place, part in enumerate(result.elements)
                ),
            )
        return with_first_open(result, EVERYWHERE, Why.CONTENT)
    if name == "tensorflow.RaggedTensor.to_tensor":
        return result if not read.is_none(argument("shape")) else _with_open_axes(result, (1,), EVERYWHERE)
    if name == "tensorflow.strings.split" or (
        name == "tensorflow.io.decode_raw" and read.is_none(argument("fixed_length"))
    ):
        return _with_open_axes(result, (-1,), EVERYWHERE)
    if name in _IMAGES:
        channels = argument("channels")
        known = channels is not None and channels != Constant(0)
        return _with_open_axes(result, (0, 1) if known else (0, 1, 2), EVERYWHERE)
    if name == "tensorflow.repeat":
        return _of_repeat(call, result)
    if name in _GATHERS and (read.is_none(argument("axis")) or read.known_integer(argument("axis")) == 0):
        return _with_first_of(result, argument("indices"))
    if name in ELEMENTWISE_OPERATIONS:
        return _with_open_axes(result, (0,), first_roots(*_given(call))) if _lacks_rank(result) else result
    if name in REDUCTIONS and read.known_integer(argument("axis")) == -1:
        # if that is the first axis too, the result has no sizes
        return _with_first_of(result, argument("input_tensor"))
    if name == "tensorflow.concat" and read.known_integer(argument("axis")) == 0:
        return _with_first_of(result, *(read.elements(argument("values")) or ()))
    if name == "tensorflow.reshape":
        return _of_reshape(call, result)
    if name in _SHAPES:
        sizes = read.integers(argument(_SHAPES[name])) or ()
        for place, size in enumerate(sizes):
            result = _with_open_axes(result, (place,), roots_of(size))
        return result
    if name == "tensorflow.pad":
        return _of_pad(call, result)
    if name == "tensorflow.eye":
        rows, columns = argument("num_rows"), argument("num_columns")
        columns = rows if read.is_none(columns) else columns
        return _with_open_axes(_with_open_axes(result, (-2,), content_roots(rows)), (-1,), content_roots(columns))
    if name == "tensorflow.sequence_mask":
        longest = argument("maxlen")
        return _with_open_axes(result, (-1,), content_roots(argument("lengths") if read.is_none(longest) else longest))
    if name in _SIZES and read.is_none(argument("axis")):
        axis, parameters = _SIZES[name]
        for parameter in parameters:
            result = _with_open_axes(result, (axis,), content_roots(argument(parameter)))
    return result


def _of_reshape(call: BoundCall, result: Value) -> Value:
    """The requested sizes; for a tensor of known sizes, a single missing one follows from the others."""
    sizes, tensor = read.integers(call.argument("shape")) or (), call.argument("tensor")
    before = _roots_of_shape(tensor)
    open_places = [place for place, size in enumerate(sizes) if roots_of(size)]
    rest = [place for place, size in enumerate(sizes) if size == -1]
    if not isinstance(result, TensorValue) or result.type.shape is None or len(result.type.shape) != len(sizes):
        return result
    shape = list(result.type.shape)
    for place, size in enumerate(sizes):
        known = eager(shape[place])
        shape[place] = opened(known, roots_of(size), Why.CONTENT) if roots_of(size) else shape[place]
    if not before and len({*open_places, *rest}) == 1:
        shape = [eager(size) for size in shape]
    for place in rest if before or open_places else ():
        roots = before
        for other in open_places:
            roots |= roots_of(sizes[other])
        if before or len(open_places) + len(rest) > 1:
            reason = shape[place]
            shape[place] = reason if isinstance(reason, OpenDim) else opened(reason, roots, Why.CONTENT)
    return replace(result, type=TensorType(result.type.dtype, tuple(shape)))


def _of_repeat(call: BoundCall, result: Value) -> Value:
    repeats, axis = call.argument("repeats"), call.argument("axis")
    along = 0 if read.is_none(axis) else read.known_integer(axis)
    if repeats is None or along is None:
        return result
    several = isinstance(repeats, FrozenList | TupleValue) or (
        isinstance(repeats, TensorValue) and repeats.type.shape not in (None, ())
    )
    return _with_open_axes(result, (along,), EVERYWHERE if several else content_roots(repeats))


def _of_pad(call: BoundCall, result: Value) -> Value:
    paddings = call.argument("paddings")
    rows = read.elements(paddings)
    if rows is None:
        return _with_open_axes(result, range(8), content_roots(paddings))
    for place, row in enumerate(rows):
        result = _with_open_axes(result, (place,), content_roots(row))
    return result


def without_rank(value: Value) -> Value:
    """A tensor whose rank a graph does not know."""
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR:
        return value
    shape = value.type.shape
    sizes = None if shape is None else tuple(opened(dim, EVERYWHERE, Why.CONTENT) for dim in shape)
    return replace(value, type=TensorType(value.type.dtype, sizes), traced=value.traced | Traced(rank=EVERYWHERE))


def _with_open_axes(value: Value, axes: Iterable[int], roots: int) -> Value:
    if not roots:
        return value

    def opening(leaf: Value) -> Value:
        if not isinstance(leaf, TensorValue) or leaf.kind is not TensorKind.TENSOR:
            return leaf
        shape = leaf.type.shape
        if shape is None:
            return replace(leaf, traced=leaf.traced | Traced(first=roots)) if 0 in wanted else leaf
        rank = len(shape)
        places = {axis % rank for axis in wanted if -rank <= axis < rank}
        sizes = tuple(opened(dim, roots, Why.CONTENT) if place in places else dim for place, dim in enumerate(shape))
        return replace(leaf, type=TensorType(leaf.type.dtype, sizes))

    wanted = tuple(axes)
    return map_structure(opening, value)
