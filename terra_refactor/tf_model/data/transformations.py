"""Methods of datasets that keep, drop, repeat or change elements.

Computes: the new element and, if known, the number of elements. Functions that a dataset applies are called as graphs
through `BoundCall.invoke`. Gives: `METHODS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.domain.dim import Dim, add, multiply
from terra_refactor.domain.value import (
    UNKNOWN,
    DatasetValue,
    FrozenList,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.data.elements import (
    INT64_SCALAR,
    DatasetMethod,
    arguments_of,
    as_element,
    join_elements,
    so_many,
    taken,
)
from terra_refactor.tf_model.spec import BoundCall


def _same(call: BoundCall, dataset: DatasetValue) -> Value:
    """`prefetch`, `cache`, `with_options`: the same elements."""
    return dataset


def _shuffled(call: BoundCall, dataset: DatasetValue) -> Value:
    """The same elements in another order."""
    return replace(dataset, lead=None)


def _fewer(call: BoundCall, dataset: DatasetValue) -> Value:
    """`filter`, `take_while`, `shard`, `unique`: some of the elements."""
    return _some(dataset)


def _some(dataset: DatasetValue, count: Dim = None) -> DatasetValue:
    """Some of the elements; their number, if known."""
    return so_many(dataset, dataset.element, count)


def _take(call: BoundCall, dataset: DatasetValue) -> Value:
    count, size = read.integer(call.argument("count")), dataset.number
    if count == -1:
        return dataset
    if isinstance(count, int) and dataset.lead is not None and 0 <= count <= dataset.lead[1]:
        return _some(replace(dataset, element=dataset.lead[0]), count)
    return _some(dataset, min(count, size) if isinstance(count, int) and isinstance(size, int) else None)


def _skip(call: BoundCall, dataset: DatasetValue) -> Value:
    count, size = read.integer(call.argument("count")), dataset.number
    if isinstance(count, int) and isinstance(size, int):
        return _some(dataset, 0 if count == -1 else max(size - count, 0))
    return _some(dataset)


def _repeat(call: BoundCall, dataset: DatasetValue) -> Value:
    count = call.argument("count")
    times = None if read.is_none(count) else read.integer(count)
    is_forever = read.is_none(count) or (isinstance(times, int) and times < 0)
    if isinstance(times, int) and times < 0:
        times = None
    last = None if times == 0 else dataset.last
    lead = None if times == 0 else dataset.lead
    counted = multiply(dataset.counted, times)
    many = replace(dataset, cardinality=multiply(dataset.cardinality, times), last=last, lead=lead, counted=counted)
    return replace(many, endless=dataset.endless or is_forever)


def _returned(outcome: Value) -> Value:
    """A function's result as an element: lists are structures here, like tuples."""
    if isinstance(outcome, FrozenList):
        return UNKNOWN if outcome.elements is None else as_element(TupleValue(outcome.elements))
    return as_element(outcome)


def _map_function(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("map_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN, dataset.cardinality)
    element = _returned(call.invoke(function, arguments_of(dataset.element), graph=True))
    return DatasetValue(element, dataset.cardinality, counted=dataset.counted, endless=dataset.endless)


def _flat_map(call: BoundCall, dataset: DatasetValue) -> Value:
    """`flat_map`, `interleave`: the elements of the datasets that the function returns."""
    function = call.argument("map_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    outcome = call.invoke(function, arguments_of(dataset.element), graph=True)
    return DatasetValue(outcome.element if isinstance(outcome, DatasetValue) else UNKNOWN)


def _filter(call: BoundCall, dataset: DatasetValue) -> Value:
    predicate = call.argument("predicate")
    if predicate is not None and not isinstance(dataset.element, UnknownValue):
        call.invoke(predicate, arguments_of(dataset.element), graph=True)
    return _some(dataset)


def _apply(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("transformation_func")
    outcome = UNKNOWN if function is None else call.invoke(function, [dataset])
    return outcome if isinstance(outcome, DatasetValue) else DatasetValue(UNKNOWN)


def _concatenate(call: BoundCall, dataset: DatasetValue) -> Value:
    other = call.argument("dataset")
    if not isinstance(other, DatasetValue):
        return DatasetValue(UNKNOWN)
    return DatasetValue(
        join_elements(dataset.element, other.element),
        add(dataset.cardinality, other.cardinality),
    )


def _enumerate(call: BoundCall, dataset: DatasetValue) -> Value:
    element = TupleValue((INT64_SCALAR, dataset.element))
    return DatasetValue(element, dataset.cardinality, counted=dataset.counted)


def _reduce(call: BoundCall, dataset: DatasetValue) -> Value:
    """The final state: that of one step joined with the initial one."""
    initial, function = call.argument("initial_state"), call.argument("reduce_func")
    if initial is None or function is None:
        return UNKNOWN
    state = as_element(initial)
    outcome = call.invoke(function, [taken(state), taken(dataset.element)], graph=True)
    if isinstance(outcome, UnknownValue):
        return UNKNOWN
    return join_elements(state, as_element(outcome))


def _scan(call: BoundCall, dataset: DatasetValue) -> Value:
    initial, function = call.argument("initial_state"), call.argument("scan_func")
    if initial is None or function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN, dataset.cardinality)
    outcome = call.invoke(function, [taken(as_element(initial)), taken(dataset.element)], graph=True)
    parts = read.elements(outcome)
    if parts is None or len(parts) != 2:
        return DatasetValue(UNKNOWN, dataset.cardinality)
    return DatasetValue(as_element(parts[1]), dataset.cardinality)


def _group_by_window(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("reduce_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    for part in (call.argument("key_func"), call.argument("window_size_func")):
        if part is not None and not read.is_none(part):
            is_key = part == call.argument("key_func")
            call.invoke(part, arguments_of(dataset.element) if is_key else [INT64_SCALAR], graph=True)
    outcome = call.invoke(function, [INT64_SCALAR, DatasetValue(dataset.element)], graph=True)
    return DatasetValue(outcome.element if isinstance(outcome, DatasetValue) else UNKNOWN)


METHODS: Final[Mapping[str, DatasetMethod]] = {
    "shuffle": _shuffled,
    "prefetch": _same,
    "cache": _same,
    "with_options": _same,
    "snapshot": _same,
    "ignore_errors": _fewer,
    "take": _take,
    "skip": _skip,
    "repeat": _repeat,
    "shard": _fewer,
    "unique": _fewer,
    "take_while": _fewer,
    "filter": _filter,
    "map": _map_function,
    "flat_map": _flat_map,
    "interleave": _flat_map,
    "apply": _apply,
    "concatenate": _concatenate,
    "enumerate": _enumerate,
    "reduce": _reduce,
    "scan": _scan,
    "group_by_window": _group_by_window,
}
