"""Dicts: their creation, and their known keys.

Computes: contents of dicts, key by key as long as the keys are few, and constants, placeholders or variables. Needs: the heap.
Gives: `HANDLERS`, and functions on contents.

A key whose value may be `UNBOUND` may be missing. `rest` joins the values of unknown keys; if it is not None, there may be other keys
than those listed, in unknown order.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import OpHandler, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.transfer.contents import note_contents
from terra_refactor.domain.lattice import join, join_all, without_unbound
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    Reference,
    TensorValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op

MAX_KEYS: Final = 256
"""Maximum number of distinguished keys; a dict with more is represented by the join of its values."""


def new_dict(site: Site, content: FrozenDict, tag: object = None, name: str = "dict") -> Value:
    """A new dict (or other mutable mapping, by the name of its class) with that content, created by operation `op`."""
    number = site.allocate(ObjectKind.DICT, name, tag)
    site.frame.state.set((number, ITEMS), content)
    return Reference(number)


def build_dict(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.BuildDict)
    frame = site.frame
    content = FrozenDict(())
    for item in op.items:
        value = frame.value(item.value)
        if item.key is None:
            note_contents(site, value)
            content = updated(content, dict_content(site, value), single=True)
        else:
            content = with_item(content, frame.value(item.key), value, single=True)
    return new_dict(site, content)


def dict_content(site: Site, value: Value) -> FrozenDict:
    """Known content of a mapping."""
    result: FrozenDict | None = None
    for member in members(value):
        content: Value | None = None
        if isinstance(member, Reference):
            content = site.frame.state.get((member.object, ITEMS))
        found = content if isinstance(content, FrozenDict) else FrozenDict((), UNKNOWN)
        if result is None:
            result = found
        elif result != found:
            result = FrozenDict((), join_all([dict_element(result), dict_element(found)]))
    return result if result is not None else FrozenDict((), UNKNOWN)


def dict_element(content: FrozenDict) -> Value:
    """Join of the dict's values; `BOTTOM` for an empty one."""
    values = [without_unbound(value) for _, value in content.items]
    if content.rest is not None:
        values.append(content.rest)
    return join_all(values)


def dict_key(content: FrozenDict) -> Value:
    """Join of the dict's keys; `BOTTOM` for an empty one."""
    return join_all(dict_keys_of(content))


def dict_keys_of(content: FrozenDict) -> tuple[Value, ...]:
    """The dict's keys; among them an unknown one if it has items that are not listed."""
    unlisted = () if content.rest is None or content.rest == BOTTOM else (UNKNOWN,)
    return (*(key for key, _ in content.items), *unlisted)


def dict_item(content: FrozenDict, index: Value) -> Value:
    """The result of `d[index]` for a dict of that content."""
    for key, value in content.items:
        if key == index:
            found = without_unbound(value)
            return found if found != BOTTOM else UNKNOWN
    if isinstance(index, Constant):
        return content.rest if content.rest is not None else UNKNOWN
    element = dict_element(content)
    return element if element != BOTTOM else UNKNOWN


def has_item(content: FrozenDict, index: Value) -> bool:
    """Whether `d[index]` certainly exists."""
    return isinstance(index, Constant) and any(
        key == index and UNBOUND not in members(value) for key, value in content.items
    )


def known_item(content: FrozenDict, index: Value) -> Value:
    """Join of the values that the key may have; `BOTTOM` if there are none."""
    if not isinstance(index, Constant):
        return dict_element(content)
    found = without_unbound(dict(content.items).get(index, BOTTOM))
    return found if content.rest is None else join(found, content.rest)


def in_unknown_order(content: FrozenDict) -> FrozenDict:
    """The same items in unknown order."""
    return FrozenDict(content.items, BOTTOM if content.rest is None else content.rest)


def with_item(content: FrozenDict, index: Value, value: Value, *, single: bool) -> FrozenDict:
    """The content of a dict after `d[index] = value`; `single`: the dict is certainly the one that changes."""
    if isinstance(index, TensorValue) and index.variable is not None and len(content.items) < MAX_KEYS:
        # a placeholder or variable by its identity, which several may share: existing items stay
        fed = dict(content.items)
        fed[index] = join(fed[index], value) if index in fed else value
        return FrozenDict(tuple(fed.items()), content.rest)
    if isinstance(index, Constant) and len(content.items) < MAX_KEYS:
        items = dict(content.items)
        known = items.get(index)
        rest = content.rest
        if known is not None and rest is None and UNBOUND in members(known) and index != content.items[-1][0]:
            # it may be a new key, which comes last: the order is unknown
            rest = BOTTOM
        items[index] = value if single else join(UNBOUND if known is None else known, value)
        return FrozenDict(tuple(items.items()), rest)
    if isinstance(index, Constant) and all(key != index for key, _ in content.items):
        # a key that equals none of these: they keep their values
        return FrozenDict(content.items, value if content.rest is None else join(content.rest, value))
    items_joined = tuple((key, join(old, value)) for key, old in content.items)
    return FrozenDict(items_joined, value if content.rest is None else join(content.rest, value))


def without_item(content: FrozenDict, index: Value, *, single: bool) -> FrozenDict:
    """The content of a dict after `del d[index]`."""
    if single and isinstance(index, Constant):
        return FrozenDict(tuple((key, item) for key, item in content.items if key != index), content.rest)
    items = tuple(
        (key, join(item, UNBOUND) if key == index or not isinstance(index, Constant) else item)
        for key, item in content.items
    )
    return FrozenDict(items, content.rest)


def updated(content: FrozenDict, other: FrozenDict, *, single: bool) -> FrozenDict:
    """The content of a dict after `d.update(other)`."""
    rest = content.rest
    if other.rest is not None:
        content = FrozenDict(tuple((key, join(item, other.rest)) for key, item in content.items), rest)
        rest = other.rest if rest is None else join(rest, other.rest)
        content = FrozenDict(content.items, rest)
    for key, item in other.items:
        surely = single and UNBOUND not in members(item)
        content = with_item(content, key, without_unbound(item), single=surely)
    return content


HANDLERS: dict[type[Op], OpHandler] = {ops.BuildDict: build_dict}
