"""The keys of dicts that are passed to a graph or returned from one: TensorFlow sorts them.

Computes: nothing. Gives: `kinds_of_keys`, `orders_of_keys`, `may_be_in_other_orders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.domain.value import BOTTOM, Constant, FrozenDict, FrozenList, TupleValue, Value, members

_MAX_DEPTH: Final = 4


def kinds_of_keys(value: Value) -> frozenset[str]:
    """The types of a dict's keys; keys of different ones cannot be sorted together."""
    keys = [key.value for key, _ in value.items if isinstance(key, Constant)] if isinstance(value, FrozenDict) else []
    return frozenset("number" if isinstance(key, int | float) else type(key).__name__ for key in keys)


def orders_of_keys(values: Iterable[Value]) -> frozenset[tuple[Value, ...]]:
    """Dicts with the same keys in different orders: the keys in the order of each; empty if there are no such dicts."""
    by_keys: dict[frozenset[Value], set[tuple[Value, ...]]] = {}
    for value in values:
        for found in _dicts(value, 0):
            keys = tuple(key for key, _ in found.items)
            by_keys.setdefault(frozenset(keys), set()).add(keys)
    return frozenset().union(*(orders for orders in by_keys.values() if len(orders) > 1))


def may_be_in_other_orders(values: Iterable[Value]) -> bool:
    """Whether the keys of a dict have an unknown order, for example because it is one of several dicts."""
    return any(content.rest == BOTTOM for value in values for content in _structures(value, 0))


def _dicts(value: Value, depth: int) -> Iterator[FrozenDict]:
    """The dicts in an argument whose keys and their order are known."""
    return (content for content in _structures(value, depth) if content.rest is None)


def _structures(value: Value, depth: int) -> Iterator[FrozenDict]:
    """The dicts in an argument."""
    parts: tuple[Value, ...] = ()
    match value:
        case FrozenDict(items):
            parts = tuple(item for _, item in items)
            yield value
        case FrozenList(elements, element):
            parts = elements if elements is not None else () if element is None else (element,)
        case TupleValue(elements):
            parts = elements
    if depth < _MAX_DEPTH:
        for part in parts:
            for member in members(part):
                yield from _structures(member, depth + 1)
