"""Values without references to the heap.

Computes: values with the contents of lists and dicts, to any depth, in place of references to them. Needs: a state.
Gives: `freeze` for the rules of `tf_model`, `freeze_in` for the facts.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import AS_TENSOR, CLASS, ITEMS, State
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    SliceValue,
    TupleValue,
    UnionValue,
    Value,
)
from terra_refactor.domain.weight import MAX_WEIGHT

MAX_FREEZE_DEPTH: Final = 6
MAX_FROZEN: Final = MAX_WEIGHT
"""Maximum number of parts of one frozen value; lists that contain the same list six levels deep could have 64 to the sixth."""
_FROZEN: Final = frozenset({Reference, TupleValue, SequenceValue, FrozenList, FrozenDict, UnionValue})


def freeze(frame: Frame, value: Value) -> Value:
    """The value as rules see it: the contents of lists and dicts instead of references to them, and tensors instead of
    objects that convert to tensors.
    """
    return value if type(value) not in _FROZEN else _Freezing(frame.state, converted=True).frozen(value, 0)


def freeze_in(state: State, value: Value, depth: int = 0) -> Value:
    """The contents of lists and dicts instead of references to them; other objects are unchanged."""
    return value if type(value) not in _FROZEN else _Freezing(state, converted=False).frozen(value, depth)


class _Freezing:
    """`converted`: whether objects that libraries convert to tensors are replaced by them."""

    __slots__ = ("converted", "done", "left", "state")

    def __init__(self, state: State, *, converted: bool) -> None:
        self.state, self.converted = state, converted
        self.left = MAX_FROZEN
        self.done: dict[tuple[int, int], tuple[Value, int, Value]] = {}
        """The frozen values of parts, by identity and depth, each with the number of its parts and the value itself, whose
        identity is not reused while it is kept: the 256 elements of a batch are often one value.
        """

    def frozen(self, value: Value, depth: int) -> Value:
        """The frozen value; `depth` is the number of enclosing structures."""
        if type(value) not in _FROZEN or depth > MAX_FREEZE_DEPTH:
            return self._frozen(value, depth)
        place = id(value), depth
        known = self.done.get(place)
        if known is not None and self.left >= known[1]:
            self.left -= known[1]
            return known[0]
        before = self.left
        found = self._frozen(value, depth)
        if self.left >= 0:
            self.done[place] = found, before - self.left, value
        return found

    def _frozen(self, value: Value, depth: int) -> Value:
        self.left -= 1
        if depth > MAX_FREEZE_DEPTH or self.left < 0:
            return UNKNOWN
        match value:
            case Reference():
                content = self.state.get((value.object, ITEMS))
                if content is None or self.state.get((value.object, CLASS)) is not None:
                    tensor = self.state.get((value.object, AS_TENSOR)) if self.converted else None
                    return value if tensor is None else tensor
                return self.frozen(content, depth)
            case TupleValue():
                return TupleValue(
                    tuple(self.frozen(element, depth + 1) for element in value.elements),
                    value.name,
                    value.fields,
                )
            case SequenceValue():
                return SequenceValue(self.frozen(value.element, depth + 1), value.kind, value.length)
            case FrozenList():
                elements = value.elements
                frozen = None if elements is None else tuple(self.frozen(element, depth + 1) for element in elements)
                element = None if value.element is None else self.frozen(value.element, depth + 1)
                return FrozenList(frozen, element, value.length)
            case FrozenDict():
                items = tuple((key, self.frozen(item, depth + 1)) for key, item in value.items)
                return FrozenDict(items, None if value.rest is None else self.frozen(value.rest, depth + 1))
            case UnionValue(members=every) if all(isinstance(member, Constant) for member in every):
                return value
            case UnionValue():
                return join_all(self.frozen(member, depth + 1) for member in value.members)
            case SliceValue():
                return value
            case _:
                return value
