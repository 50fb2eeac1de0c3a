"""TR405: a reshape to rows of another size than an example, which changes the number of examples, or a reshape that
moves axes as only a transpose can.

An axis is moved if all sizes are known and are those of the tensor in another order, or if a size is read from the
tensor's own shape (`tf.shape(x)[1]`) and follows one more size than before. Sizes of 1 may be anywhere. Of NumPy arrays,
only those of rank 4 or more whose examples keep their rank. Ignores:
merged or split neighbouring axes: `(batch, time, d)` to `(-1, d)` and back applies a layer to every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from terra_refactor.domain.dim import Dim, SymbolicDim, at_defaults, definitely_equal, eager, multiply
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import Constant, TensorKind, TensorValue, Value, members
from terra_refactor.facts.records import Call, Display, ItemRead, NameRead, Unpacked
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.along_axes import gives_sizes, is_array_method, is_array_reshape
from terra_refactor.tf_model.arguments import integer
from terra_refactor.tf_model.spec import Trait

_MAX_AXES: Final = 6
_RANK_OF_IMAGES: Final = 4


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.calls_with(Trait.RESHAPES):
        if any(failure.op == call.op for failure in view.context.failures):
            continue
        data = view.library_argument(call, name, "tensor", "x")
        wanted = view.library_argument(call, name, "shape", "newshape")
        if data is not None and wanted is not None:
            moved = (
                _moved(view, call.op, data, wanted) or _permuted(view, call.op, data) or _merged(view, call.op, data)
            )
            if moved is not None:
                yield LocalHazard(call.op, moved)
                continue
        target = None if wanted is None else _target(view, wanted)
        if data is None or target is None:
            continue
        messages = [_mixed(value, target) for value in members(view.value(data))]
        if messages and messages[0] is not None and None not in messages:
            yield LocalHazard(call.op, messages[0])
    for call, name in view.library_calls():
        if is_array_reshape(name):
            data = call.owner if is_array_method(name) else view.library_argument(call, name, "a")
            moved = None if data is None else _permuted(view, call.op, data)
            if moved is not None:
                yield LocalHazard(call.op, moved)


def _permuted(view: ContextView, op: OpId, data: OpId) -> str | None:
    """A message about a reshape of tensors or arrays of rank 4 or more to the same sizes per example in another order;
    the number of examples may be unknown.
    """
    before, after = _shape_of(view.value(data)), _shape_of(view.value(op))
    if before is None or after is None or not len(before) == len(after) >= _RANK_OF_IMAGES:
        return None
    rest, wanted = (tuple(size for size in map(eager, shape[1:]) if size != 1) for shape in (before, after))
    known = all(isinstance(size, int) for size in (*rest, *wanted))
    if not known or eager(before[0]) == 1 or rest == wanted or sorted(map(str, rest)) != sorted(map(str, wanted)):
        return None
    return (
        f"reshape of shape {format_shape(before)} to {format_shape(after)} keeps the order of the elements: to move axes takes "
        "a transpose"
    )


def _shape_of(value: Value) -> Shape:
    """The shape of a value that certainly is one tensor or array; otherwise None."""
    found = members(value)
    if len(found) != 1 or not isinstance(found[0], TensorValue):
        return None
    return found[0].type.shape if found[0].kind in (TensorKind.TENSOR, TensorKind.NDARRAY) else None


def _target(view: ContextView, wanted: OpId) -> tuple[int, ...] | None:
    """The sizes after the first one of a shape that is written as `[-1, ...]`; None for other shapes."""
    written = view.made(wanted)
    if not isinstance(written, Display) or not written.is_sequence or any(item.starred for item in written.items):
        return None
    sizes = [eager(integer(view.value(item.value))) for item in written.items]
    if len(sizes) < 2 or sizes[0] != -1:
        return None
    rest = tuple(size for size in sizes[1:] if isinstance(size, int) and size > 0)
    return rest if len(rest) == len(sizes) - 1 else None


def _mixed(value: Value, target: tuple[int, ...]) -> str | None:
    """The problem with a reshape to `(-1, *target)`; None if it may be intended."""
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR or value.type.shape is None:
        return None
    shape = value.type.shape
    row = _products(shape[1:])
    if len(shape) < 2 or row is None or eager(shape[0]) == 1:
        return None
    ends = _products(target)
    if ends is None or not row or not ends:
        return None
    whole, wanted = row[-1], ends[-1]
    if whole == wanted or 0 in (whole, wanted) or whole == 1 or (set(row) & set(ends)) - {1}:
        return None
    if len(shape) == 2 and (whole % wanted == 0 or wanted % whole == 0):
        # packed rows are split or joined
        return None
    return (
        f"reshape to {format_shape((-1, *target))}: an example of shape {format_shape(shape)} has {whole} elements, not {wanted}, so the "
        "number of examples (axis 0) changes"
    )


def _moved(view: ContextView, op: OpId, data: OpId, wanted: OpId) -> str | None:
    """A message about a reshape that moves an axis of the tensor after one that it preceded; None if the order may be
    intended.
    """
    written = view.made(wanted)
    found = members(view.value(data))
    if not isinstance(written, Display) or not written.is_sequence or any(item.starred for item in written.items):
        return None
    if len(found) != 1 or not isinstance(found[0], TensorValue) or found[0].kind is not TensorKind.TENSOR:
        return None
    sizes = [eager(integer(view.value(item.value))) for item in written.items]
    shape = found[0].type.shape
    if (
        shape is not None
        and len(shape) == len(sizes)
        and (_is_permuted(tuple(map(eager, shape)), tuple(sizes)) or _turns_batch(view, data, op))
    ):
        return (
            f"reshape of shape {format_shape(shape)} to {format_shape(tuple(sizes))} keeps the order of the elements: to move axes takes "
            "a transpose"
        )
    axes = [_axis_read(view, item.value, data) for item in written.items]
    known = [axis for axis in axes if axis is not None]
    passed = _passed_over(axes, shape)
    if passed is not None:
        return (
            f"reshape puts axis {passed + 1} of `{view.written(data)}` (shape {format_shape(shape)}) where axis {passed} was, and keeps "
            "the order of the elements: use a transpose to move axes"
        )
    wide = [axis for axis, size in zip(axes, sizes, strict=True) if axis is not None and size != 1]
    if len(known) >= 3 and sorted(known) == list(range(len(axes))) and wide != sorted(wide):
        return f"reshape to the axes {known} of `{view.written(data)}` keeps the order of the elements; use a transpose to move axes"
    if len(set(known)) != len(known) or known != sorted(known):
        return None
    for place, axis in enumerate(axes):
        before = axes[:place]
        more = [size for each, size in zip(before, sizes, strict=False) if each is None and size != 1]
        if axis is not None and axis > 0 and set(range(axis)) <= set(before) and len(more) == 1 and more[0] != -1:
            return (
                f"reshape puts axis {axis} of `{view.written(data)}` after another size, and keeps the order of the elements: use a "
                "transpose to move axes"
            )
    return None


def _passed_over(axes: Sequence[int | None], shape: Shape) -> int | None:
    """The axis larger than 1 that is missing between the sizes of two axes of the tensor that are adjacent in the new shape.

    `(shape[0], shape[2], width)`: axis 1 would have to be merged with the axes after axis 2, which needs a transpose first.
    """
    for place, axis in enumerate(axes):
        if axis is None:
            return None
        if axis == place:
            continue
        if shape is None or place == 0 or axis != place + 1 or axis >= len(shape) or place in axes:
            return None
        return place if eager(shape[place]) not in (None, 1) and eager(shape[axis]) != 1 else None
    return None


def _turns_batch(view: ContextView, data: OpId, op: OpId) -> bool:
    """Whether a reshape exchanges the first two of several axes of a tensor that comes from a stack of parts or from a
    caller.

    A tensor created there may be an example of reshaping.
    """
    shape, result = _sizes_of(view.value(data)), _sizes_of(view.value(op))
    if shape is None or result is None or len(shape) != len(result):
        return False
    made = view.origin(data)
    is_stack = isinstance(made, Call) and made.op in dict.fromkeys(call.op for call, _ in view.calls_with(Trait.STACKS))
    if len(shape) < (2 if is_stack else 3) or (not is_stack and view.parameter_behind(data) is None):
        return False
    exchanged = (shape[1], shape[0], *shape[2:])
    return shape[0] != shape[1] and 1 not in shape and None not in shape and exchanged == result


def _merged(view: ContextView, op: OpId, data: OpId) -> str | None:
    """A message about a reshape that merges axes which are not adjacent; None if the order may be intended.

    Numbers may be products by chance, so an axis that moves must be named, or the tensor must be the result of
    another reshape.
    """
    shape, wanted = _sizes_of(view.value(data)), _sizes_of(view.value(op))
    if shape is None or wanted is None or not 2 <= len(wanted) < len(shape) <= _MAX_AXES:
        return None
    if not _same(shape[0], wanted[0]) or _is_in_order(shape[1:], wanted[1:]):
        return None
    made = view.origin(data)
    again = isinstance(made, Call) and made.op in dict.fromkeys(call.op for call, _ in view.calls_with(Trait.RESHAPES))
    for order in product(range(len(wanted) - 1), repeat=len(shape) - 1):
        parts = [
            [size for size, place in zip(shape[1:], order, strict=True) if place == at] for at in range(len(wanted) - 1)
        ]
        if not all(parts) or not all(map(_is_product, parts, wanted[1:])):
            continue
        moved = [
            part[0]
            for part, size in zip(parts, wanted[1:], strict=True)
            if len(part) == 1 and isinstance(part[0], SymbolicDim) and definitely_equal(part[0], size)
        ]
        if again or moved:
            return (
                f"reshape of shape {format_shape(shape)} to {format_shape(wanted)} merges axes that are not adjacent, and keeps "
                "the order of the elements: use a transpose to move axes"
            )
    return None


def _sizes_of(value: Value) -> tuple[Dim, ...] | None:
    """The sizes of a tensor, without sizes of 1 after the first; None if one is unknown."""
    found = members(value)
    if len(found) != 1 or not isinstance(found[0], TensorValue) or found[0].kind is not TensorKind.TENSOR:
        return None
    shape = tuple(map(eager, found[0].type.shape or ()))
    return None if not shape or None in shape[1:] else (shape[0], *(size for size in shape[1:] if size != 1))


def _same(left: Dim, right: Dim) -> bool:
    """Whether two sizes are equal; if computed from options, in the run with all defaults."""
    usual = at_defaults(left)
    return left == right or (usual is not None and usual == at_defaults(right))


def _is_product(sizes: Sequence[Dim], wanted: Dim) -> bool:
    count: Dim = 1
    for size in sizes:
        count = multiply(count, size)
    return _same(count, wanted)


def _is_in_order(shape: tuple[Dim, ...], wanted: tuple[Dim, ...]) -> bool:
    """Whether each size is the product of adjacent axes, in order."""
    if not wanted:
        return not shape
    return any(
        _is_product(shape[:count], wanted[0]) and _is_in_order(shape[count:], wanted[1:])
        for count in range(1, len(shape) + 1)
    )


def _is_permuted(shape: tuple[Dim, ...], wanted: tuple[Dim, ...]) -> bool:
    """Whether these are the same known sizes in another order, examples first."""
    if None in shape or None in wanted or len(shape) < 3 or shape[0] != wanted[0]:
        return False
    kept, target = ([size for size in sizes if size != 1] for sizes in (shape, wanted))
    return kept != target and sorted(map(str, kept)) == sorted(map(str, target))


def _axis_read(view: ContextView, number: OpId, data: OpId) -> int | None:
    """The axis, as written, of a tensor whose size is the result; None for other results."""
    read = view.origin(number)
    if isinstance(read, Unpacked):
        index: int | None = read.position
        owner = read.source
        made = view.made(owner)
        if isinstance(made, Display) and made.is_sequence and len(made.items) > read.position:
            return _axis_read(view, made.items[read.position].value, data)
    elif isinstance(read, ItemRead):
        value = view.value(read.index)
        index = value.value if isinstance(value, Constant) and type(value.value) is int else None
        owner = read.owner
    else:
        return None
    shape = view.origin(owner)
    tensor = view.tensor_of_shape(owner)
    if isinstance(shape, Call) and shape.op in view.calls and any(map(gives_sizes, view.calls[shape.op].library)):
        tensor = shape.first
    if tensor is None or index is None or index < 0:
        return None
    return index if _is_same(view, tensor, data) else None


def _is_same(view: ContextView, one: OpId, other: OpId) -> bool:
    """Whether two results are the same variable with the same value."""
    first, second = view.made(one), view.made(other)
    if not isinstance(first, NameRead) or not isinstance(second, NameRead) or first.name != second.name:
        return False
    return [write.op for write in view.code.given_to(first)] == [write.op for write in view.code.given_to(second)]


def _products(sizes: tuple[Dim, ...]) -> list[int] | None:
    """The products of the last size, the last two, and so on; None if one is unknown."""
    found: list[int] = []
    product = 1
    for size in map(eager, reversed(sizes)):
        if not isinstance(size, int):
            return None
        product *= size
        found.append(product)
    return found


RULE: Final = Rule(
    id="TR405",
    name="reshape-mixes-batch",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="A reshape whose rows are larger or smaller than one example, or that replaces a transpose, mixes examples or axes.",
    explanation=(
        "If the first size is -1, the product of the others must be the size of one example. If it is not, one example becomes several "
        "rows, or several become one: silently if the sizes happen to divide, otherwise it raises for most batches: `InvalidArgumentError: "
        "... Input to reshape is a tensor with 12800 values, but the requested shape requires a multiple of 3136`. A reshape from `(batch, "
        "height, width, channels)` to `(batch, channels, height, width)`, or from `(batch, time, d)` to `(batch, heads, time, depth)`, "
        "never raises: the elements stay in their order, so each channel or head gets elements of all channels or heads."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

images = tf.ones([10, 32, 32, 3])
rows = tf.reshape(images, [-1, 32 * 32])  # TR405
""",
        good="""\
import tensorflow as tf

images = tf.ones([10, 32, 32, 3])
rows = tf.reshape(images, [-1, 32 * 32 * 3])
""",
        near_miss="""\
import tensorflow as tf

steps = tf.ones([10, 7, 20])
merged = tf.reshape(steps, [-1, 20])
back = tf.reshape(merged, [-1, 7, 20])
""",
    ),
    cure="Move axes with `tf.transpose`. "
    "Compute the size of a row from the tensor (`tf.reshape(x, [tf.shape(x)[0], -1])`, `Flatten()`), or correct the number.",
    check=check,
)
