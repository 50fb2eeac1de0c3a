"""The weight of values, and its limit.

Computes: the number of parts of a value, each counted as often as it occurs. Needs: nothing. Gives: `weight`, `bounded`.

`x = (x, x)` doubles a value with each line: after a hundred lines, comparing or hashing it would never end, though
its parts are the same few objects. So the weight of each result is measured, and a result that is too heavy becomes
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import (
    BoundMethod,
    DatasetValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    PartialValue,
    RangeValue,
    SequenceValue,
    SliceValue,
    SuperValue,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)

MAX_WEIGHT: Final = 5_000
"""Maximum number of parts of a value; a table of 64 rows of 64 numbers has fewer."""

COMPOSITE: Final = frozenset(
    {
        *(BoundMethod, DatasetValue, FrozenDict, FrozenList, FunctionValue, PartialValue, RangeValue, SequenceValue),
        *(SliceValue, SuperValue, TensorValue, TupleValue, UnionValue),
    }
)
"""The classes of values that hold other values."""

_weight_of: dict[int, tuple[Value, int]] = {}
"""By identity; the value is kept alive, so its identity is not reused."""
_MOST_WEIGHTS: Final = 20_000


def weight(value: Value) -> int:
    """The number of parts of a value, itself included; for a value that is too heavy, some number above `MAX_WEIGHT`."""
    if type(value) not in COMPOSITE:
        return 1
    known = _weight_of.get(id(value))
    if known is not None:
        return known[1]
    total = 1
    for part in _parts(value):
        total += 1 if type(part) not in COMPOSITE else weight(part)
        if total > MAX_WEIGHT:
            break
    if total > 2:
        if len(_weight_of) >= _MOST_WEIGHTS:
            _weight_of.clear()
        _weight_of[id(value)] = (value, total)
    return total


TOO_HEAVY: Final = UnknownValue(reason="too large")


def bounded(value: Value) -> Value:
    """The value, or an unknown value if it has too many parts."""
    return value if weight(value) <= MAX_WEIGHT else TOO_HEAVY


def _parts(value: Value) -> Iterator[Value]:
    match value:
        case UnionValue():
            yield from value.members
        case TupleValue():
            yield from value.elements
        case SequenceValue():
            yield value.element
        case FrozenList():
            yield from value.elements or ()
            if value.element is not None:
                yield value.element
        case FrozenDict():
            for key, item in value.items:
                yield key
                yield item
            if value.rest is not None:
                yield value.rest
        case FunctionValue():
            for _, default in value.defaults:
                yield default
            for _, annotation in value.annotations:
                yield annotation
            for _, argument in value.hybrid or ():
                yield argument
        case BoundMethod():
            yield value.function
            yield value.receiver
        case PartialValue():
            yield value.function
            yield from value.arguments
            for _, argument in value.keywords:
                yield argument
        case DatasetValue():
            yield value.element
            if value.last is not None:
                yield value.last
            if value.lead is not None:
                yield value.lead[0]
        case SuperValue():
            yield value.cls
            yield value.receiver
        case RangeValue():
            yield from (value.start, value.stop, value.step)
        case SliceValue():
            yield from (value.lower, value.upper, value.step)
        case TensorValue():
            if value.content is not None:
                yield value.content
        case _:
            pass
