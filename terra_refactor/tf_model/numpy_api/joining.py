"""NumPy functions that join arrays: concatenate, stack and similar functions, for lists of known or unknown length.

Computes: output types; the joined axis exactly if the number of arrays is known. Gives: `ARRAY_JOINING`, which
`manipulation` merges into its rules, and `at_least_rank`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import Dim, add
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.shape import Shape, element_count, join_shapes
from terra_refactor.domain.value import (
    UNKNOWN,
    Bottom,
    FrozenList,
    SequenceValue,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.numpy_api.arrays import array, array_operand, dtype_setting, promoted_strong
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _items(value: Value | None) -> tuple[Value, ...] | None:
    """The arrays in a list, or along the first axis of an array of known size."""
    listed = read.elements(value)
    if listed is not None:
        return listed
    if isinstance(value, TensorValue) and value.type.shape and isinstance(value.type.shape[0], int):
        count = value.type.shape[0]
        if value.type.dtype is None and len(value.type.shape) == 1:
            return None  # objects, which may be arrays
        if count <= 64:
            return (array(value.type.dtype, value.type.shape[1:]),) * count
    return None


def _join_dtype(call: BoundCall, items: Sequence[Value]) -> DType | None:
    # elements of the list count as arrays, even if they are Python numbers
    return dtype_setting(call, promoted_strong([array_operand(item).type.dtype for item in items]))


def _joining(rule: OperationRule) -> OperationRule:
    """A rule that joins the arrays of a list; if its length is unknown, so are the sizes that depend on it."""

    def open_rule(call: BoundCall) -> Value:
        name = next((name for name in ("arrays", "tup") if name in call.arguments), None)
        given = None if name is None else call.arguments[name]
        if (
            name is None
            or not isinstance(given, FrozenList | SequenceValue)
            or given.element is None
            or read.elements(given) is not None
            or isinstance(given.element, Bottom)
        ):
            return rule(call)
        made = [
            rule(replace(call, arguments={**call.arguments, name: TupleValue((given.element,) * length)}))
            for length in (2, 3)
        ]
        types = [value.type for value in made if isinstance(value, TensorValue)]
        return array(types[0].dtype, join_shapes(types[0].shape, types[1].shape)) if len(types) == 2 else UNKNOWN

    return open_rule


def _concatenate(call: BoundCall) -> Value:
    items = _items(read.first_of(call, "arrays", "tup"))
    if not items:
        return array(None, None)
    axis = call.argument("axis")
    dtype = _join_dtype(call, items)
    parts = [array_operand(item).type.shape for item in items]
    if axis is not None and read.is_none(axis):
        total: Dim = 0
        for shape in parts:
            total = add(total, None if shape is None else element_count(shape))
        return array(dtype, (total,))
    if axis is not None and read.may_be_none(axis):
        return array(dtype, None)
    place = 0 if axis is None else read.known_integer(axis)
    return array(dtype, shapes.concatenated_arrays("concatenate", parts, place))


def _stack(call: BoundCall) -> Value:
    items = _items(read.first_of(call, "arrays", "tup"))
    if not items:
        return array(None, None)
    axis = call.argument("axis")
    place = 0 if axis is None else read.known_integer(axis)
    return array(
        _join_dtype(call, items),
        shapes.stacked_arrays("stack", [array_operand(item).type.shape for item in items], place),
    )


def at_least_rank(rank: int, shape: Shape) -> Shape:
    """`atleast_1d`, `atleast_2d`, `atleast_3d`."""
    if shape is None or len(shape) >= rank:
        return shape
    if rank < 3:
        return (1,) * (rank - len(shape)) + shape
    return {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]


def _stack_along(name: str, rank: int, axis: int) -> OperationRule:
    """`vstack`, `hstack`, `dstack`: join after raising the rank."""

    def rule(call: BoundCall) -> Value:
        items = _items(read.first_of(call, "tup", "arrays"))
        if not items:
            return array(None, None)
        parts = [at_least_rank(rank, array_operand(item).type.shape) for item in items]
        place = axis
        if name == "hstack":
            known = [part for part in parts if part is not None]
            if not known:
                return array(_join_dtype(call, items), None)
            place = 0 if len(known[0]) == 1 else 1
        return array(_join_dtype(call, items), shapes.concatenated_arrays(name, parts, place))

    return rule


def _column_stack(call: BoundCall) -> Value:
    items = _items(read.first_of(call, "tup"))
    if not items:
        return array(None, None)
    parts: list[Shape] = []
    for item in items:
        shape = array_operand(item).type.shape
        parts.append((*at_least_rank(1, shape), 1) if shape is not None and len(shape) < 2 else shape)  # type: ignore[misc]
    return array(_join_dtype(call, items), shapes.concatenated_arrays("column_stack", parts, 1))


ARRAY_JOINING: Final[Mapping[str, OperationRule]] = {
    "concatenate": _joining(_concatenate),
    "stack": _joining(_stack),
    "vstack": _joining(_stack_along("vstack", 2, 0)),
    "row_stack": _joining(_stack_along("vstack", 2, 0)),
    "hstack": _joining(_stack_along("hstack", 1, 1)),
    "dstack": _joining(_stack_along("dstack", 3, 2)),
    "column_stack": _joining(_column_stack),
}
"""By NumPy's short name."""
