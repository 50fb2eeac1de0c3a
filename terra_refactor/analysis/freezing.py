"""Values as seen without the heap.

Computes: the contents of lists and dicts in the place of references to them, as deep as they are. Needs: a state.
Gives: `freeze` and `freeze_in`, for the rules of `tf_model` and for the facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import CLASS, ITEMS, State
from terra_refactor.domain.value import (
    UNKNOWN,
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    SliceValue,
    TupleValue,
    UnionValue,
    Value,
)

if TYPE_CHECKING:
    from terra_refactor.analysis.frames import Frame

MAX_FREEZE_DEPTH: Final = 6


def freeze(frame: Frame, value: Value, depth: int = 0) -> Value:
    """The value as rules see it: the contents of lists and dicts instead of references to them."""
    return freeze_in(frame.state, value, depth)


def freeze_in(state: State, value: Value, depth: int = 0) -> Value:
    """The same in another state than the present one."""
    if depth > MAX_FREEZE_DEPTH:
        return UNKNOWN
    match value:
        case Reference():
            content = state.get((value.object, ITEMS))
            if content is None or state.get((value.object, CLASS)) is not None:
                return value
            return freeze_in(state, content, depth)
        case TupleValue():
            return TupleValue(
                tuple(freeze_in(state, element, depth + 1) for element in value.elements), value.name, value.fields
            )
        case SequenceValue():
            return SequenceValue(freeze_in(state, value.element, depth + 1), value.kind, value.length)
        case FrozenList():
            elements = value.elements
            frozen = None if elements is None else tuple(freeze_in(state, element, depth + 1) for element in elements)
            element = None if value.element is None else freeze_in(state, value.element, depth + 1)
            return FrozenList(frozen, element, value.length)
        case FrozenDict():
            items = tuple((key, freeze_in(state, item, depth + 1)) for key, item in value.items)
            return FrozenDict(items, None if value.rest is None else freeze_in(state, value.rest, depth + 1))
        case UnionValue():
            return join_all(freeze_in(state, member, depth + 1) for member in value.members)
        case SliceValue():
            return value
        case _:
            return value
