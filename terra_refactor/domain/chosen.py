"""Values chosen by a condition or loop on a tensor, as AutoGraph converts them.

Gives: `symbolic`, `not_symbolic`, `chosen_in_graph`, `with_axis_open`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from terra_refactor.domain.dim import Why, definitely_different
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import open_axis
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_content_open
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    Scalar,
    TensorValue,
    TupleValue,
    UnionValue,
    Value,
    as_symbolic,
    members,
)


def symbolic(value: Value) -> Value:
    """The graph's view of a value that is set under a condition or in a loop on a tensor: AutoGraph converts Python
    numbers and strings to tensors, also inside tuples, lists and dicts.
    """
    return with_content_open(join_all(_as_symbolic(member) for member in members(value)), EVERYWHERE)


def _as_symbolic(value: Value) -> Value:
    return _with_parts(value, symbolic) or as_symbolic(value)


def not_symbolic(value: Value) -> Value:
    """A value of eager code, also inside containers, whose numbers and strings `symbolic` has made symbolic."""
    match value:
        case Scalar(type=kind, symbolic=True):
            return Scalar(kind)
        case UnionValue(members=parts):
            return join_all(map(not_symbolic, parts))
        case _:
            return _with_parts(value, not_symbolic) or value


def _with_parts(value: Value, change: Callable[[Value], Value]) -> Value | None:
    """A tuple, or the content of a list or dict, with its parts changed; None for other values."""
    match value:
        case TupleValue(elements=elements):
            return replace(value, elements=tuple(map(change, elements)))
        case FrozenList(elements=elements, element=element):
            kept = None if elements is None else tuple(map(change, elements))
            return replace(value, elements=kept, element=None if element is None else change(element))
        case FrozenDict(items=items, rest=rest):
            return FrozenDict(tuple((key, change(item)) for key, item in items), None if rest is None else change(rest))
        case _:
            return None


def chosen_in_graph(value: Value) -> Value:
    """The result of a choice by a tensor between the alternatives of a value."""
    alternatives = members(value)
    shapes = [member.type.shape for member in alternatives if isinstance(member, TensorValue) and member.type.shape]
    if len(shapes) == len(alternatives) and len({len(shape) for shape in shapes}) == 1:
        for axis, sizes in enumerate(zip(*shapes, strict=True)):
            if any(definitely_different(sizes[0], size) for size in sizes[1:]):
                alternatives = tuple(with_axis_open(member, axis) for member in alternatives)
    return join_all(alternatives)


def with_axis_open(value: Value, axis: int) -> Value:
    """A tensor with one axis of a size that is unknown in a graph."""
    assert isinstance(value, TensorValue)
    shape = open_axis(value.type.shape, axis, EVERYWHERE, Why.CONTENT)
    return replace(value, type=TensorType(value.type.dtype, shape))
