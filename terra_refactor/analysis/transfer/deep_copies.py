"""Deep copies of variables and tensors by `copy.deepcopy`.

Computes: the copy, with its own containers; if the copied object holds variables or tensors of the call, records a
call of their `__deepcopy__`, which works only eagerly. Needs: the heap. Gives: `copy_deeply`. Source: `copy.deepcopy`
of each kind in TensorFlow 2.21, eagerly and traced.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.container_methods import copy_container
from terra_refactor.analysis.transfer.kept_tensors import has_new_tensor, has_tensor
from terra_refactor.analysis.transfer.mappings import new_dict
from terra_refactor.domain.lattice import join_all, references
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.value import (
    FrozenDict,
    FrozenList,
    LibraryValue,
    ObjectId,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model.graph_traits import COPY_OF_TENSOR, COPY_OF_VARIABLE, makes_variables_late

_MOST_OBJECTS: Final = 64
_DEEPEST: Final = 6


def copy_deeply(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    frame = site.frame
    given = arguments.positional[0] if arguments.positional else None
    if given is not None:
        arrived = frozenset[ObjectId]().union(*map(references, frame.parameters.values()))
        pending, seen = [(given, False)], set[ObjectId]()
        while pending and len(seen) < _MOST_OBJECTS:
            value, is_argument = pending.pop()
            if has_new_tensor(frame, value) or (is_argument and has_tensor(value)):
                frame.call_record(site.op).library[COPY_OF_TENSOR] = None
            if _has_weights(value):
                frame.call_record(site.op).library[COPY_OF_VARIABLE] = None
            for number in sorted(references(value) - seen):
                seen.add(number)
                held = list(site.engine.fields_here(frame, number).values())
                held += [known for name in (ITEMS, CLASS) if (known := frame.state.get((number, name))) is not None]
                pending.extend((each, is_argument or number in arrived) for each in held)
    copied = copy_container(site, arguments, receiver)
    if isinstance(copied, Reference):
        content = frame.state.get((copied.object, ITEMS))
        if content is not None:
            frame.state.set((copied.object, ITEMS), _contents_copied(site, content, ("deep",)))
    return copied


def _contents_copied(site: Site, content: Value, tag: tuple[object, ...]) -> Value:
    """The contents of a container, with copies of the containers in them; contents of class instances are not copied."""
    match content:
        case FrozenList(elements=elements, element=element, length=length):
            return FrozenList(
                None
                if elements is None
                else tuple(_copied(site, each, (*tag, number)) for number, each in enumerate(elements)),
                None if element is None else _copied(site, element, (*tag, "*")),
                length,
            )
        case FrozenDict(items=items, rest=rest):
            return FrozenDict(
                tuple((key, _copied(site, item, (*tag, str(key)))) for key, item in items),
                None if rest is None else _copied(site, rest, (*tag, "**")),
            )
        case _:
            return content


def _copied(site: Site, value: Value, tag: tuple[object, ...]) -> Value:
    match value:
        case Reference():
            content = site.frame.state.get((value.object, ITEMS))
            if len(tag) > _DEEPEST or not isinstance(content, FrozenList | FrozenDict):
                is_instance = site.engine.objects.facts[value.object].kind is ObjectKind.INSTANCE
                return UnknownValue(reason="a copy") if is_instance or content is not None else value
            name = site.engine.objects.facts[value.object].name
            inner = _contents_copied(site, content, tag)
            if isinstance(inner, FrozenList):
                return new_list(site, inner, tag, name=name)
            assert isinstance(inner, FrozenDict)
            return new_dict(site, inner, tag, name=name)
        case TupleValue(elements=elements):
            copies = tuple(_copied(site, each, (*tag, number)) for number, each in enumerate(elements))
            return TupleValue(copies, value.name, value.fields, value.cls)
        case UnionValue(members=alternatives):
            return join_all(_copied(site, each, (*tag, number)) for number, each in enumerate(alternatives))
        case _:
            return value


def _has_weights(value: Value) -> bool:
    """Whether a value is or contains a variable, or a library object that has variables."""
    for member in members(value):
        match member:
            case TensorValue(kind=TensorKind.VARIABLE):
                return True
            case LibraryValue(name=name):
                if makes_variables_late(name):
                    return True
            case TupleValue(elements=elements):
                if any(map(_has_weights, elements)):
                    return True
            case FrozenList(elements=elements, element=element):
                if any(map(_has_weights, elements if elements is not None else () if element is None else (element,))):
                    return True
            case FrozenDict(items=items, rest=rest):
                if any(_has_weights(item) for _, item in items) or (rest is not None and _has_weights(rest)):
                    return True
            case _:
                continue
    return False
