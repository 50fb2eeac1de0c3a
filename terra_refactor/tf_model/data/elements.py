"""The structure of a dataset's elements: components, specs, the join of two datasets' elements.

Computes: the element of a value, the values that specs or dtypes and shapes describe. Gives: pure functions of values. Source:
`tf.data.Dataset`: tuples and dicts are structures, everything else is a component.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import INT64, STRING
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_content_open
from terra_refactor.domain.value import (
    UNKNOWN,
    UNKNOWN_TENSOR,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    SequenceValue,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.spec import BoundCall
from terra_refactor.tf_model.traced_sizes import is_lost

STRING_SCALAR: Final = TensorValue(TensorType(STRING, ()))
INT64_SCALAR: Final = TensorValue(TensorType(INT64, ()))
_COMPOSITE: Final = (TensorKind.SPARSE, TensorKind.RAGGED, TensorKind.INDEXED_SLICES)

DatasetMethod: TypeAlias = Callable[[BoundCall, DatasetValue], Value]
"""A rule of a dataset's method, which also receives the dataset."""


def so_many(dataset: DatasetValue, element: Value, count: Dim) -> DatasetValue:
    """A derived dataset: its element and its length, which TensorFlow knows if it knows that of the original."""
    known, counted = (None, count) if dataset.cardinality is None else (count, None)
    return DatasetValue(element, known, counted=counted)


def taken(element: Value) -> Value:
    """An element as a consumer of a dataset receives it: with a content unknown to the graph."""
    return with_content_open(element, EVERYWHERE)


def map_components(function: Callable[[Value], Value], structure: Value) -> Value:
    """`function` on every component: tuples and dicts are structures, everything else is a component."""
    match structure:
        case TupleValue(items, name, fields):
            return TupleValue(tuple(map_components(function, item) for item in items), name, fields)
        case FrozenDict(entries, rest):
            return FrozenDict(
                tuple((key, map_components(function, entry)) for key, entry in entries),
                None if rest is None else map_components(function, rest),
            )
        case UnionValue(alternatives):
            return join_all(map_components(function, alternative) for alternative in alternatives)
        case SequenceValue(kind="tuple"):
            return UNKNOWN  # a structure of unknown length
        case _:
            return function(structure)


def as_component(value: Value) -> Value:
    """A value as one component of a dataset: a tensor; a nested dataset is unchanged."""
    match value:
        case DatasetValue():
            return value
        case TensorValue(tensor_type, kind) if kind in _COMPOSITE:
            return TensorValue(tensor_type, kind)
        case UnknownValue():
            return UNKNOWN_TENSOR
        case _:
            return TensorValue(read.converted_type(value))


def as_element(value: Value) -> Value:
    """A value as an element of a dataset; `UNKNOWN` if its structure is unknown."""
    return UNKNOWN if isinstance(value, UnknownValue) else map_components(_component, value)


def _component(value: Value) -> Value:
    """A leaf of an element; if TensorFlow does not know its rank, the rank stays unknown."""
    if is_lost(value):
        return value
    return as_component(value)


def element_of_specs(spec: Value) -> Value:
    """The element that a structure of specs describes."""

    def described(value: Value) -> Value:
        match value:
            case SpecValue(tensor_type, kind):
                return TensorValue(tensor_type, TensorKind.TENSOR if kind is TensorKind.VARIABLE else kind)
            case DatasetValue():
                return value
            case _:
                return UNKNOWN

    return map_components(described, spec)


def typed_element(types: Value, shapes: Value | None) -> Value:
    """The element for a structure of dtypes and, if given, one of shapes (`output_types`, `output_shapes`)."""
    match types:
        case TupleValue(items, name, fields):
            parts = shapes.elements if isinstance(shapes, TupleValue) else (None,) * len(items)
            if len(parts) != len(items):
                parts = (None,) * len(items)
            return TupleValue(tuple(typed_element(a, b) for a, b in zip(items, parts, strict=True)), name, fields)
        case FrozenDict(entries, None):
            by_key = dict(shapes.items) if isinstance(shapes, FrozenDict) else {}
            return FrozenDict(tuple((key, typed_element(entry, by_key.get(key))) for key, entry in entries))
        case DTypeValue() | Constant():
            shape: Shape = None
            if isinstance(shapes, ShapeValue | TupleValue | FrozenList):
                shape = read.shape_argument(shapes)
            return TensorValue(TensorType(read.dtype_argument(types), shape))
        case _:
            dtype = read.dtype_argument(types)
            return UNKNOWN if dtype is None else TensorValue(TensorType(dtype))


def join_elements(left: Value, right: Value) -> Value:
    """The join of the elements of two datasets of the same structure."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue) and len(left.elements) == len(right.elements):
        parts = tuple(join_elements(a, b) for a, b in zip(left.elements, right.elements, strict=True))
        return TupleValue(parts, left.name, left.fields, left.cls)
    return join(left, right)


def arguments_of(element: Value) -> list[Value]:
    """An element as arguments of a function: a plain tuple is passed as several arguments."""
    element = taken(element)
    if isinstance(element, TupleValue) and element.name is None:
        return list(element.elements)
    return [element]
