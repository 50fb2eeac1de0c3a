"""Methods of datasets that combine or split elements: `batch`, `padded_batch`, `window`, `unbatch`.

Computes: the new axis, which is unknown if the last batch may be smaller; the number of batches. Gives: `METHODS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import Dim, Why, ceil_divide, floor_divide, multiply
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import with_first_open
from terra_refactor.domain.value import (
    UNKNOWN,
    UNKNOWN_TENSOR,
    DatasetValue,
    FrozenDict,
    FrozenList,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.data.elements import DatasetMethod, arguments_of, map_components, so_many
from terra_refactor.tf_model.spec import BoundCall


def _batch_size(call: BoundCall, dataset: DatasetValue) -> tuple[Dim, Dim]:
    """The first axis of every batch, None if the last one may differ; and the number of batches."""
    size, total = read.size(call.argument("batch_size")), dataset.number
    drop = call.argument("drop_remainder")
    dropped = False if drop is None else read.truth(drop)
    if dropped is True:
        return size, floor_divide(total, size)
    if dropped is None:
        return None, None
    count = ceil_divide(total, size)
    if isinstance(size, int) and isinstance(total, int) and size > 0:
        if total % size == 0:
            return size, count
        return (total if total < size else None), count
    if count is not None:
        return size, count  # a symbolic number of elements that is a multiple of the batch size
    return (size if dataset.endless else None), None


def _batches(call: BoundCall, element: Value) -> Value:
    """Batches whose last one may be smaller according to TensorFlow: a graph does not know the first size of any of them."""
    drop = call.argument("drop_remainder")
    is_open = drop is None or read.truth(drop) is False
    return with_first_open(element, EVERYWHERE, Why.BATCH) if is_open else element


def _batched(value: Value, size: Dim) -> Value:
    match value:
        case TensorValue(TensorType(dtype, shape), kind) if kind not in (TensorKind.RAGGED, TensorKind.INDEXED_SLICES):
            return TensorValue(TensorType(dtype, None if shape is None else (size, *shape)), kind)
        case TensorValue(TensorType(dtype, _), kind):
            return TensorValue(TensorType(dtype), kind)
        case UnknownValue():
            return UNKNOWN
        case _:
            return UNKNOWN_TENSOR


def _batch(call: BoundCall, dataset: DatasetValue) -> Value:
    size, count = _batch_size(call, dataset)
    if isinstance(dataset.element, UnknownValue):
        return so_many(dataset, UNKNOWN, count)
    element = map_components(lambda value: _batched(value, size), dataset.element)
    batches = so_many(dataset, _batches(call, element), count)
    rest = _rest(call, dataset)
    if rest is None:
        return batches
    whole, total = read.size(call.argument("batch_size")), dataset.number
    assert isinstance(whole, int) and isinstance(total, int)
    last = map_components(lambda value: _batched(value, rest), dataset.element)
    full = map_components(lambda value: _batched(value, whole), dataset.element)
    return replace(batches, last=_batches(call, last), lead=(_batches(call, full), total // whole))


def _rest(call: BoundCall, dataset: DatasetValue) -> int | None:
    """The number of elements of the last batch, if it is known and smaller than that of the others."""
    size, total, drop = read.size(call.argument("batch_size")), dataset.number, call.argument("drop_remainder")
    if not isinstance(size, int) or not isinstance(total, int) or not 0 < size < total:
        return None
    if drop is not None and read.truth(drop) is not False:
        return None
    return total % size or None


def _padded_batch(call: BoundCall, dataset: DatasetValue) -> Value:
    """Pads every element: to the longest of its batch if a size is fixed neither by the element nor by `padded_shapes`."""
    size, count = _batch_size(call, dataset)
    targets = call.argument("padded_shapes")
    element = _pad(dataset.element, None if read.is_none(targets) else targets, size)
    return so_many(dataset, _batches(call, element), count)


def _pad(element: Value, target: Value | None, size: Dim) -> Value:
    match element:
        case TupleValue(items, name, fields):
            parts = read.elements(target)
            if parts is None or len(parts) != len(items):
                unknown = None if target is None else UNKNOWN
                return TupleValue(tuple(_pad(item, unknown, size) for item in items), name, fields)
            return TupleValue(tuple(_pad(a, b, size) for a, b in zip(items, parts, strict=True)), name, fields)
        case FrozenDict(entries, None):
            by_key = dict(target.items) if isinstance(target, FrozenDict) else {}
            fallback = None if target is None else UNKNOWN
            return FrozenDict(tuple((key, _pad(entry, by_key.get(key, fallback), size)) for key, entry in entries))
        case UnionValue(alternatives):
            return join_all(_pad(alternative, target, size) for alternative in alternatives)
        case UnknownValue():
            return UNKNOWN
        case TensorValue(TensorType(dtype, shape), TensorKind.TENSOR):
            if target is None:
                return TensorValue(TensorType(dtype, None if shape is None else (size, *shape)))
            wanted = read.shape_argument(target) if isinstance(target, TupleValue | FrozenList | ShapeValue) else None
            if wanted is None:
                return TensorValue(TensorType(dtype, None if shape is None else (size, *(None,) * len(shape))))
            known = shape if shape is not None and len(shape) == len(wanted) else (None,) * len(wanted)
            return TensorValue(
                TensorType(dtype, (size, *(b if a is None else a for a, b in zip(wanted, known, strict=True))))
            )
        case _:
            return UNKNOWN_TENSOR


def _unbatch(call: BoundCall, dataset: DatasetValue) -> Value:
    sizes: list[Dim] = []

    def row(value: Value) -> Value:
        if not isinstance(value, TensorValue) or value.kind is TensorKind.RAGGED or not value.type.shape:
            return TensorValue(TensorType(value.type.dtype)) if isinstance(value, TensorValue) else UNKNOWN_TENSOR
        sizes.append(value.type.shape[0])
        return TensorValue(TensorType(value.type.dtype, value.type.shape[1:]), value.kind)

    if isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    element = map_components(row, dataset.element)
    return DatasetValue(element, multiply(dataset.cardinality, sizes[0]) if sizes else None)


def _bucket(call: BoundCall, dataset: DatasetValue) -> Value:
    """`bucket_by_sequence_length`: padded batches of a size that depends on the bucket."""
    targets, length = call.argument("padded_shapes"), call.argument("element_length_func")
    if length is not None and not isinstance(dataset.element, UnknownValue):
        call.invoke(length, arguments_of(dataset.element), graph=True)
    element = _pad(dataset.element, None if read.is_none(targets) else targets, None)
    return DatasetValue(_batches(call, element))


def _window(call: BoundCall, dataset: DatasetValue) -> Value:
    """Every component becomes a dataset of `size` elements, or fewer at the end."""
    drop = call.argument("drop_remainder")
    size = read.integer(call.argument("size")) if drop is not None and read.truth(drop) else None
    if isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    return DatasetValue(map_components(lambda value: DatasetValue(value, size), dataset.element))


METHODS: Final[Mapping[str, DatasetMethod]] = {
    "batch": _batch,
    "padded_batch": _padded_batch,
    "unbatch": _unbatch,
    "window": _window,
    "bucket_by_sequence_length": _bucket,
}
