"""The methods of list, dict and set, and copies.

Computes: results and changed contents. Needs: the heap. Gives: `CONTAINER_METHODS`, by canonical name; every change is an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from terra_refactor.analysis.classes import find_method, owner_of_attributes
from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer import mappings
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.attribute_dicts import change_attributes
from terra_refactor.analysis.transfer.contents import note_contents, one_of_many
from terra_refactor.analysis.transfer.iteration import Iteration, extend_list, iterate
from terra_refactor.analysis.transfer.kept_tensors import holds_new_tensor
from terra_refactor.analysis.transfer.mappings import (
    dict_content,
    dict_element,
    dict_item,
    dict_key,
    dict_keys_of,
    new_dict,
    updated,
    with_item,
    without_item,
)
from terra_refactor.analysis.transfer.special_methods import run_hash
from terra_refactor.domain.dim import add, subtract
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import join, list_element, list_length, without_unbound
from terra_refactor.domain.state import CLASS, DEFAULT_FACTORY, EXISTS, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.interpreted import Interpreted, by_name

BuiltinHandler: TypeAlias = "Callable[[Site, CallArguments, Value | None], Value | None]"


def argument_at(arguments: CallArguments, position: int, name: str = "") -> Value | None:
    """The argument at that position or with that name; None if there is none."""
    if position < len(arguments.positional):
        return arguments.positional[position]
    return dict(arguments.keywords).get(name) if name else None


def _list_change(change: Callable[[Site, Reference, CallArguments, bool], Value]) -> BuiltinHandler:
    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        frame = site.frame
        owner = owner_of_attributes(receiver)
        if owner is not None:
            return change_attributes(site, owner, arguments)
        if not isinstance(receiver, Reference):
            return UNKNOWN
        single = frame.state.get((receiver.object, EXISTS)) != FALSE
        result = change(site, receiver, arguments, single)
        kept = receiver.object not in frame.allocated and any(
            holds_new_tensor(site, value) for value in arguments.positional
        )
        write_effect(site, receiver.object, ITEMS, site.written(site.op), keeps_tensor=kept)
        return result

    return handler


def _append(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    value = arguments.positional[-1] if arguments.positional else UNKNOWN
    extend_list(site.frame, receiver.object, Iteration((value,), value), single=single)
    return NONE


def _extend(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    if arguments.positional:
        extend_list(site.frame, receiver.object, iterate(site, arguments.positional[0]), single=single)
    return NONE


def _insert(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    position, value = argument_at(arguments, 0), argument_at(arguments, 1)
    if isinstance(content, FrozenList) and value is not None:
        if single and content.elements is not None and isinstance(position, Constant) and type(position.value) is int:
            elements = list(content.elements)
            elements.insert(position.value, value)
            frame.state.set((receiver.object, ITEMS), FrozenList(tuple(elements)))
        else:
            length = add(list_length(content), 1) if single else None
            frame.state.set((receiver.object, ITEMS), FrozenList(None, join(list_element(content), value), length))
    return NONE


def _pop(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    if isinstance(content, FrozenDict):
        key = argument_at(arguments, 0)
        default = argument_at(arguments, 1)
        value = dict_item(content, key) if key is not None else UNKNOWN
        absent = isinstance(key, Constant) and content.rest is None and key not in dict(content.items)
        frame.state.set((receiver.object, ITEMS), without_item(content, key or UNKNOWN, single=single))
        if default is not None:
            return default if absent else join(value, default)
        return value
    if not isinstance(content, FrozenList):
        return UNKNOWN
    position = argument_at(arguments, 0)
    if single and content.elements and frame.uncertainty == 0:
        index = (
            position.value
            if isinstance(position, Constant) and type(position.value) is int
            else -1
            if position is None
            else None
        )
        if index is not None and -len(content.elements) <= index < len(content.elements):
            elements = list(content.elements)
            value = elements.pop(index)
            frame.state.set((receiver.object, ITEMS), FrozenList(tuple(elements)))
            return value
    element = list_element(content)
    frame.state.set((receiver.object, ITEMS), FrozenList(None, element))
    return element if element != BOTTOM else UNKNOWN


def _clear(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    cleared: Value | None = None
    if isinstance(content, FrozenDict):
        cleared = FrozenDict(()) if single else without_item(content, UNKNOWN, single=False)
    elif isinstance(content, FrozenList):
        cleared = FrozenList(()) if single else FrozenList(None, list_element(content))
    if cleared is not None:
        frame.state.set((receiver.object, ITEMS), cleared)
    return NONE


def _reorder(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    if isinstance(content, FrozenList):
        element = list_element(content)
        count = None if content.elements is None else len(content.elements)
        frame.state.set(
            (receiver.object, ITEMS),
            FrozenList(None, element, content.length) if count is None else FrozenList((element,) * count),
        )
    elif isinstance(content, FrozenDict):
        frame.state.set((receiver.object, ITEMS), mappings.in_unknown_order(content))
    return NONE


def _remove(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    if isinstance(content, FrozenList):
        length = subtract(list_length(content), 1) if single else None
        frame.state.set((receiver.object, ITEMS), FrozenList(None, list_element(content), length))
    return NONE


def _add_to_set(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    if isinstance(content, FrozenList) and arguments.positional:
        frame.state.set(
            (receiver.object, ITEMS), FrozenList(None, join(list_element(content), arguments.positional[0]))
        )
    return NONE


def _update(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    if isinstance(content, FrozenList):
        for value in arguments.positional:
            more = iterate(site, value)
            frame.state.set((receiver.object, ITEMS), FrozenList(None, join(list_element(content), more.element)))
        return NONE
    if not isinstance(content, FrozenDict):
        return NONE
    for value in arguments.positional:
        note_contents(site, value)
        content = updated(content, dict_content(site, value), single=single)
    for name, value in arguments.keywords:
        content = with_item(content, Constant(name), value, single=single)
    if arguments.open_keywords is not None:
        content = updated(content, FrozenDict((), arguments.open_keywords), single=single)
    frame.state.set((receiver.object, ITEMS), content)
    return NONE


def _recount(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    """`update` and `subtract` of a `Counter`, which add to the counts."""
    site.frame.state.set((receiver.object, ITEMS), FrozenDict((), UNKNOWN))
    return NONE


def _set_default(site: Site, receiver: Reference, arguments: CallArguments, single: bool) -> Value:
    frame = site.frame
    content = frame.state.get((receiver.object, ITEMS))
    key, default = argument_at(arguments, 0), argument_at(arguments, 1) or NONE
    if not isinstance(content, FrozenDict) or key is None:
        return UNKNOWN
    known = dict(content.items).get(key)
    if known is not None and UNBOUND not in members(known):
        return known
    absent = isinstance(key, Constant) and content.rest is None and known is None
    found = default if absent else join(dict_item(content, key), default)
    value = one_of_many(frame, found, (item for _, item in content.items))
    frame.state.set((receiver.object, ITEMS), with_item(content, key, value, single=single))
    return value


def dict_get(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    key = argument_at(arguments, 0)
    default = argument_at(arguments, 1) or NONE
    if not isinstance(receiver, Reference) or key is None:
        return UNKNOWN
    content = dict_content(site, receiver)
    run_hash(site, key, dict_keys_of(content))
    for name, value in content.items:
        if name == key:
            if UNBOUND in members(value):
                return join(without_unbound(value), default)
            return value
    if isinstance(key, Constant) and content.rest is None:
        return default
    return join(dict_element(content), default)


def dict_keys(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is None:
        return UNKNOWN
    content = dict_content(site, receiver)
    if content.rest is None and _all_set(content):
        return TupleValue(tuple(key for key, _ in content.items))
    return SequenceValue(dict_key(content), "dict_keys")


def dict_values(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is None:
        return UNKNOWN
    content = dict_content(site, receiver)
    if content.rest is None and _all_set(content):
        return TupleValue(tuple(value for _, value in content.items))
    return SequenceValue(dict_element(content), "dict_values")


def dict_items(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is None:
        return UNKNOWN
    content = dict_content(site, receiver)
    if content.rest is None and _all_set(content):
        return TupleValue(tuple(TupleValue((key, value)) for key, value in content.items))
    return SequenceValue(TupleValue((dict_key(content), dict_element(content))), "dict_items")


def _all_set(content: FrozenDict) -> bool:
    return all(UNBOUND not in members(value) for _, value in content.items)


def copy_shallow(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`copy.copy(x)`: for an instance created in this call, a new one with the same fields."""
    engine, frame = site.engine, site.frame
    value = argument_at(arguments, 0)
    if not isinstance(value, Reference) or value.object not in frame.allocated:
        return copy_container(site, arguments, receiver)
    cls = frame.state.get((value.object, CLASS))
    hook = None if cls is None else find_method(site, value, "__copy__")
    if cls is None or hook is not None or frame.state.get((value.object, ITEMS)) is not None:
        return copy_container(site, arguments, receiver)
    held = engine.fields_here(frame, value.object)
    facts = engine.objects.facts[value.object]
    number = site.allocate(facts.kind, facts.name)
    for name, content in held.items():
        if name != EXISTS:
            frame.state.set((number, name), content)
    return Reference(number)


def copy_container(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    frame = site.frame
    value = receiver if receiver is not None else argument_at(arguments, 0)
    if isinstance(value, Reference):
        content = frame.state.get((value.object, ITEMS))
        name = site.engine.objects.facts[value.object].name
        if isinstance(content, FrozenList):
            return new_list(site, content, name=name)
        if isinstance(content, FrozenDict):
            copied = new_dict(site, content, name=name)
            factory = frame.state.get((value.object, DEFAULT_FACTORY))
            if factory is not None and isinstance(copied, Reference):
                frame.state.set((copied.object, DEFAULT_FACTORY), factory)
            return copied
        cls = frame.state.get((value.object, CLASS))
        if cls is not None:
            # a copy of an instance is new, but its contents are not distinguished from those of the original, which
            # other code may change
            if value.object not in frame.allocated:
                target = Target(RootKind.GLOBAL, site.written(site.op))
                detail = f"reads {target}"
                frame.add_effect(Effect(EffectKind.STATE_READ, target, detail, site.place(), assumed=True))
            return UnknownValue(reason="a copy")
    return UNKNOWN if value is None or owner_of_attributes(value) is not None else value


reorder: Final = _list_change(_reorder)
remove: Final = _list_change(_remove)
CONTAINER_METHODS: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.APPEND: _list_change(_append),
        Interpreted.EXTEND: _list_change(_extend),
        Interpreted.INSERT: _list_change(_insert),
        Interpreted.POP: _list_change(_pop),
        Interpreted.CLEAR: _list_change(_clear),
        Interpreted.REMOVE_UNCOMPARED: remove,
        Interpreted.REORDER: reorder,
        Interpreted.ADD: _list_change(_add_to_set),
        Interpreted.UPDATE: _list_change(_update),
        Interpreted.RECOUNT: _list_change(_recount),
        Interpreted.SET_DEFAULT: _list_change(_set_default),
        Interpreted.GET: dict_get,
        Interpreted.KEYS: dict_keys,
        Interpreted.VALUES: dict_values,
        Interpreted.ITEMS: dict_items,
        Interpreted.COPY_CONTAINER: copy_container,
        Interpreted.COPY: copy_shallow,
    }
)
