"""Attributes and items of objects as variables of the branches and loops of a graph.

Computes: which of them AutoGraph returns from a branch or loop, and their first values. Needs: a view. Gives:
`part_writes`, `variables_of_target`, `is_returned`, `initial_values`. Source: `_get_block_composite_vars` in
control_flow.py, and pyct/qual_names.py, of TensorFlow 2.21.
"""

from __future__ import annotations

from terra_refactor.domain.value import Constant, FrozenDict, FrozenList, Reference, Value
from terra_refactor.facts.records import AttributeRead, AttributeWrite, ItemRead, ItemWrite, Literal, NameRead, Region
from terra_refactor.facts.staging import displayed, staging_of
from terra_refactor.facts.view import ContextView


def part_writes(view: ContextView) -> list[AttributeWrite | ItemWrite]:
    """The reached assignments to attributes and items, in order."""
    return sorted([*view.reached(AttributeWrite), *view.reached(ItemWrite)], key=lambda write: write.op)


def variables_of_target(view: ContextView, write: AttributeWrite | ItemWrite) -> frozenset[str] | None:
    """The variables in the name by which AutoGraph knows an attribute or an item; None if it does not."""
    found: set[str] = set()
    waiting = [write.owner, write.index] if isinstance(write, ItemWrite) else [write.owner]
    while waiting:
        match view.made(waiting.pop()):
            case NameRead(name=name):
                found.add(name)
            case AttributeRead(owner=owner):
                waiting.append(owner)
            case ItemRead(owner=owner, index=index):
                waiting += [owner, index]
            case Literal():
                pass
            case _:
                return None
    return frozenset(found)


def is_returned(view: ContextView, region: Region, names: frozenset[str] | None) -> bool:
    """Whether AutoGraph returns an attribute or item with these variables in its name from a branch or loop."""
    return names is not None and all(staging_of(view).is_live(name, region.op) for name in names)


def initial_values(view: ContextView, holder: object, part: object) -> list[Value]:
    """The value with which a display creates an item."""
    facts = view.facts.objects[holder.object] if isinstance(holder, Reference) else None
    if facts is None or facts.function != view.function.id or facts.op is None:
        return []
    made = displayed(view, facts.op)
    match made, part:
        case FrozenDict(items), Constant():
            return [value for key, value in items if key == part]
        case FrozenList(tuple() as elements), Constant(int() as index) if -len(elements) <= index < len(elements):
            return [elements[index]]
        case _:
            return []
