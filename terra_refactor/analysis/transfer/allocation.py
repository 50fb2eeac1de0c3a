"""Allocation of lists, sets and dicts as objects.

Computes: objects for the containers that an operation creates, and for the lists and dicts in the result of a rule.
Needs: the heap. Gives: `new_list`, `new_set`, `thaw`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.transfer import mappings
from terra_refactor.domain.lattice import (
    join_all,
)
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    TupleValue,
    UnionValue,
    Value,
)


def new_list(site: Site, content: FrozenList, tag: object = None, name: str = "list") -> Value:
    """A new list (or other mutable sequence, by the name of its class) with that content, created by operation `op`."""
    number = site.allocate(ObjectKind.LIST, name, tag)
    site.frame.state.set((number, ITEMS), content)
    return Reference(number)


COUNTER: Final = "Counter"
"""The name of the class of these dicts."""


def new_set(site: Site, element: Value, name: str = "set") -> Value:
    """A new set with such elements, created by operation `op`; `name` is the name of its class."""
    number = site.allocate(ObjectKind.SET, name)
    site.frame.state.set((number, ITEMS), FrozenList(None, element))
    return Reference(number)


def thaw(site: Site, value: Value, tag: object = None) -> Value:
    """A rule's result as the interpreter sees it: new lists and dicts become objects."""
    match value:
        case FrozenList():
            elements = value.elements
            content = FrozenList(
                None if elements is None else tuple(thaw(site, e, (tag, i)) for i, e in enumerate(elements)),
                None if value.element is None else thaw(site, value.element, (tag, "*")),
                value.length,
            )
            return new_list(site, content, tag)
        case FrozenDict():
            items = tuple((key, thaw(site, item, (tag, str(key)))) for key, item in value.items)
            rest = None if value.rest is None else thaw(site, value.rest, (tag, "**"))
            return mappings.new_dict(site, FrozenDict(items, rest), tag)
        case TupleValue():
            thawed = tuple(thaw(site, e, (tag, i)) for i, e in enumerate(value.elements))
            return TupleValue(thawed, value.name, value.fields, value.cls)
        case SequenceValue():
            return SequenceValue(thaw(site, value.element, (tag, "*")), value.kind)
        case UnionValue():
            return join_all(thaw(site, member, (tag, i)) for i, member in enumerate(value.members))
        case _:
            return value
