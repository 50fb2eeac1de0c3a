"""Values as seen without the heap.

Computes: the contents of lists and dicts in the place of references to them, as deep as they are. Needs: a state.
Gives: `freeze` for the rules of `tf_model`, `freeze_in` for the facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import AS_TENSOR, CLASS, ITEMS, State
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


def freeze(frame: Frame, value: Value) -> Value:
    """The value as rules see it: the contents of lists and dicts instead of references to them, tensors instead of what becomes one."""
    return _frozen(frame.state, value, 0, True)


def freeze_in(state: State, value: Value, depth: int = 0) -> Value:
    """The contents of lists and dicts instead of references to them; every other object stays what it is."""
    return _frozen(state, value, depth, False)


def _frozen(state: State, value: Value, depth: int, converted: bool) -> Value:
    """`converted`: whether an object that libraries convert to a tensor is that tensor."""
    if depth > MAX_FREEZE_DEPTH:
        return UNKNOWN
    match value:
        case Reference():
            content = state.get((value.object, ITEMS))
            if content is None or state.get((value.object, CLASS)) is not None:
                tensor = state.get((value.object, AS_TENSOR)) if converted else None
                return value if tensor is None else tensor
            return _frozen(state, content, depth, converted)
        case TupleValue():
            return TupleValue(
                tuple(_frozen(state, element, depth + 1, converted) for element in value.elements),
                value.name,
                value.fields,
            )
        case SequenceValue():
            return SequenceValue(_frozen(state, value.element, depth + 1, converted), value.kind, value.length)
        case FrozenList():
            elements = value.elements
            frozen = (
                None
                if elements is None
                else tuple(_frozen(state, element, depth + 1, converted) for element in elements)
            )
            element = None if value.element is None else _frozen(state, value.element, depth + 1, converted)
            return FrozenList(frozen, element, value.length)
        case FrozenDict():
            items = tuple((key, _frozen(state, item, depth + 1, converted)) for key, item in value.items)
            return FrozenDict(items, None if value.rest is None else _frozen(state, value.rest, depth + 1, converted))
        case UnionValue():
            return join_all(_frozen(state, member, depth + 1, converted) for member in value.members)
        case SliceValue():
            return value
        case _:
            return value
