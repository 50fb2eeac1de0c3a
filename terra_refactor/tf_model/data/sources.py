"""Sources of datasets: tensors, generators, ranges, files, other datasets.

Computes: the structure of one element and, if known, the number of elements. Gives: `DATASET_CONSTRUCTORS`, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import Dim, Truth, definitely_different, format_dim
from terra_refactor.domain.dtype import INT64
from terra_refactor.domain.shape import compatible, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    UNKNOWN_TENSOR,
    DatasetValue,
    FrozenList,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.data.elements import (
    STRING_SCALAR,
    as_component,
    as_element,
    element_of_specs,
    join_elements,
    map_components,
    typed_element,
)
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _from_tensor_slices(call: BoundCall) -> Value:
    structure = call.argument("tensors")
    if structure is None or isinstance(structure, UnknownValue):
        return DatasetValue(UNKNOWN)
    sizes: list[Dim] = []

    def sliced(value: Value) -> Value:
        component = as_component(value)
        if not isinstance(component, TensorValue):
            return UNKNOWN
        shape = component.type.shape
        if shape is None:
            sizes.append(None)
            return TensorValue(TensorType(component.type.dtype), component.kind)
        if not shape:
            raise OperationError(
                ErrorKind.RANK, "from_tensor_slices: a component of rank 0 cannot be sliced", ("tensors",)
            )
        sizes.append(shape[0])
        if component.kind is TensorKind.RAGGED:
            return UNKNOWN_TENSOR
        return TensorValue(TensorType(component.type.dtype, shape[1:]), component.kind)

    element = map_components(sliced, structure)
    return DatasetValue(element, _common_size(sizes))


def _common_size(sizes: Sequence[Dim]) -> Dim:
    common: Dim = None
    for size in sizes:
        if definitely_different(common, size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"from_tensor_slices: axis 0 of the components differs: {format_dim(common)} and {format_dim(size)}",
                ("tensors",),
            )
        common = size if common is None or (isinstance(size, int) and not isinstance(common, int)) else common
    return common


def _from_tensors(call: BoundCall) -> Value:
    value = call.argument("tensors")
    return DatasetValue(UNKNOWN if value is None else as_element(value), 1)


def _from_generator(call: BoundCall) -> Value:
    signature = call.argument("output_signature")
    if not read.is_none(signature):
        assert signature is not None
        element = element_of_specs(signature)
        return DatasetValue(element, counted=_count_yielded(call, element))
    types = call.argument("output_types")
    if types is None or read.is_none(types):
        return DatasetValue(UNKNOWN)
    shapes = call.argument("output_shapes")
    return DatasetValue(typed_element(types, None if read.is_none(shapes) else shapes))


def _count_yielded(call: BoundCall, declared: Value) -> Dim:
    """The number of elements that the generator yields. Raises OperationError if the shape of one certainly differs from
    the signature.
    """
    generator = call.argument("generator")
    if generator is None or not read.is_none(call.argument("args")):
        return None
    made = call.invoke(generator, [])
    if not isinstance(made, SequenceValue | FrozenList) or made.element is None:
        return None
    expected, yielded = read.leaves(declared), read.leaves(made.element)
    if expected is None or yielded is None or len(expected) != len(yielded):
        return made.length
    for wanted, given in zip(expected, yielded, strict=True):
        if (
            not isinstance(wanted, TensorValue)
            or wanted.kind is not TensorKind.TENSOR
            or not isinstance(given, TensorValue)
        ):
            continue
        if compatible(wanted.type.shape, given.type.shape) is Truth.NO:
            raise OperationError(
                ErrorKind.SHAPE,
                f"from_generator: the generator yields {format_shape(given.type.shape)}, its signature says "
                f"{format_shape(wanted.type.shape)}",
                ("output_signature",),
            )
    return made.length


def _range(call: BoundCall) -> Value:
    dtype_value = call.argument("output_type") or call.extra_keywords.get("output_type")
    dtype = INT64 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    element = TensorValue(TensorType(dtype, ()))
    parts = call.extra_arguments
    if not 1 <= len(parts) <= 3 or call.incomplete:
        return DatasetValue(element)
    bounds = [read.integer(part) for part in parts]
    if len(bounds) == 1:
        return DatasetValue(element, bounds[0])
    start, stop = bounds[0], bounds[1]
    step: Dim = 1 if len(bounds) == 2 else bounds[2]
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step != 0:
        return DatasetValue(element, len(range(start, stop, step)))
    return DatasetValue(element)


def strings(call: BoundCall) -> Value:
    """Datasets of file names, lines or records."""
    return DatasetValue(STRING_SCALAR)


def counter(call: BoundCall) -> Value:
    """An endless sequence of numbers."""
    dtype = call.argument("dtype")
    return DatasetValue(TensorValue(TensorType(INT64 if dtype is None else read.dtype_argument(dtype), ())))


def _zip(call: BoundCall) -> Value:
    """`Dataset.zip(a, b)`, `Dataset.zip((a, b))`, also with a dict."""
    given = call.argument("datasets")
    if given is None or read.is_none(given):
        parts = call.extra_arguments
        if call.incomplete or not parts:
            return DatasetValue(UNKNOWN)
        given = parts[0] if len(parts) == 1 else TupleValue(parts)
    sizes: list[Dim] = []

    def element(value: Value) -> Value:
        if isinstance(value, DatasetValue):
            sizes.append(value.cardinality)
            return value.element
        sizes.append(None)
        return UNKNOWN

    if isinstance(given, FrozenList) and given.elements is not None:
        given = TupleValue(given.elements)
    zipped = map_components(element, given)
    return DatasetValue(zipped, _least(sizes))


def _least(sizes: Sequence[Dim]) -> Dim:
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes) and known:
        return min(known)
    return sizes[0] if sizes and all(size == sizes[0] for size in sizes) else None


def mixed(call: BoundCall) -> Value:
    """`sample_from_datasets`, `choose_from_datasets`: an element of any of them."""
    items = read.elements(call.argument("datasets"))
    parts = [item for item in items or () if isinstance(item, DatasetValue)]
    if items is None or not parts or len(parts) < len(items):
        return DatasetValue(UNKNOWN)
    whole = parts[0].element
    for part in parts[1:]:
        whole = join_elements(whole, part.element)
    return DatasetValue(whole)


def unknown_dataset(call: BoundCall) -> Value:
    """A dataset whose properties only its file determines."""
    return DatasetValue(UNKNOWN)


DATASET_CONSTRUCTORS: Final[Mapping[str, OperationRule]] = {
    "from_tensor_slices": _from_tensor_slices,
    "from_tensors": _from_tensors,
    "from_generator": _from_generator,
    "range": _range,
    "list_files": strings,
    "zip": _zip,
}
"""Static methods of all dataset classes."""
