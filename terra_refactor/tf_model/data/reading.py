"""Reads of a dataset: iteration over its elements, their number, their specs.

Gives: `METHODS`, and `ATTRIBUTES` by their own names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.dtype import INT64, STRING
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NOT_A_TENSOR,
    UNKNOWN,
    Constant,
    DatasetValue,
    DTypeValue,
    PythonType,
    Scalar,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model.data.elements import DatasetMethod, map_components, taken
from terra_refactor.tf_model.spec import BoundCall


def _as_array(value: Value) -> Value:
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR:
        return UNKNOWN
    if value.type.dtype == STRING:
        return NOT_A_TENSOR if value.type.shape != () else Scalar(PythonType.BYTES)
    kind = TensorKind.NUMPY_SCALAR if value.type.shape == () else TensorKind.NDARRAY
    return TensorValue(value.type, kind)


def _numpy_iterator(call: BoundCall, dataset: DatasetValue) -> Value:
    element = (
        dataset.element if isinstance(dataset.element, UnknownValue) else map_components(_as_array, dataset.element)
    )
    # `as_numpy_iterator` returns arrays, whose sizes are known
    return DatasetValue(element, dataset.cardinality, iterator=True)


def iterator(call: BoundCall, dataset: DatasetValue) -> Value:
    """`iter(dataset)`."""
    return DatasetValue(dataset.element, dataset.cardinality, iterator=True)


def next_element(call: BoundCall, dataset: DatasetValue) -> Value:
    """The next element of an iterator, or the single element of a dataset."""
    return taken(dataset.element)


def cardinality(call: BoundCall, dataset: DatasetValue) -> Value:
    """The number of elements, as a tensor."""
    known = dataset.cardinality
    return TensorValue(TensorType(INT64, ()), content=Constant(known) if isinstance(known, int) else None)


def _length(call: BoundCall, dataset: DatasetValue) -> Value:
    known = dataset.cardinality
    return Constant(known) if isinstance(known, int) else Scalar(PythonType.INT, known)


def element_spec(receiver: Value) -> Value:
    """`Dataset.element_spec`: a structure of specs."""

    def spec(value: Value) -> Value:
        return SpecValue(value.type, value.kind) if isinstance(value, TensorValue) else UNKNOWN

    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return map_components(spec, receiver.element)


def output_types(receiver: Value) -> Value:
    """A structure of dtypes."""
    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return map_components(
        lambda value: DTypeValue(value.type.dtype if isinstance(value, TensorValue) else None), receiver.element
    )


def output_shapes(receiver: Value) -> Value:
    """A structure of shapes."""
    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return map_components(
        lambda value: ShapeValue(value.type.shape if isinstance(value, TensorValue) else None), receiver.element
    )


METHODS: Final[Mapping[str, DatasetMethod]] = {
    "as_numpy_iterator": _numpy_iterator,
    "get_single_element": next_element,
    "cardinality": cardinality,
    "__iter__": iterator,
    "__len__": _length,
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    "element_spec": element_spec,
    "output_types": output_types,
    "output_shapes": output_shapes,
}
