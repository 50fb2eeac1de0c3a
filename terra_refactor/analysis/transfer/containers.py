"""Displays of tuples, lists and sets, slices, f-strings, and unpacking.

Computes: contents of containers, element by element as long as they stay small. Needs: the heap. Gives: `HANDLERS`,
including those of items and dicts.
"""

from __future__ import annotations

from typing_extensions import assert_never

from terra_refactor.analysis.engine import OpHandler, Site
from terra_refactor.analysis.transfer import mappings
from terra_refactor.analysis.transfer.allocation import new_list, new_set
from terra_refactor.analysis.transfer.contents import note_contents
from terra_refactor.analysis.transfer.data_files import formatted_path
from terra_refactor.analysis.transfer.items import delete_item, load_item, store_item
from terra_refactor.analysis.transfer.iteration import MAX_ELEMENTS, iterate
from terra_refactor.analysis.transfer.loaded_numbers import is_loaded, unpacked_from_loaded
from terra_refactor.analysis.transfer.special_methods import format_object
from terra_refactor.domain.dim import Dim, add
from terra_refactor.domain.lattice import (
    join,
    join_all,
)
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNKNOWN,
    UNKNOWN_STR,
    Constant,
    EnumMember,
    FrozenList,
    SequenceValue,
    SliceValue,
    TupleValue,
    Value,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op


def build_container(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.BuildContainer)
    elements: list[Value] | None = []
    element: Value = BOTTOM
    length: Dim = 0
    for part in op.elements:
        value = site.frame.value(part.value)
        if not part.starred:
            length = add(length, 1)
            element = join(element, value) if elements is None else element
            if elements is not None:
                elements.append(value)
            continue
        spread = iterate(site, value)
        length = add(length, spread.length)
        if spread.elements is not None and elements is not None:
            elements.extend(spread.elements)
        else:
            element = join_all([element, spread.element, *(elements or ())])
            elements = None
    if elements is not None and len(elements) > MAX_ELEMENTS:
        element, elements = join_all(elements), None
    match op.kind:
        case ops.ContainerKind.TUPLE:
            return SequenceValue(element, length=length) if elements is None else TupleValue(tuple(elements))
        case ops.ContainerKind.LIST:
            content = FrozenList(None, element, length) if elements is None else FrozenList(tuple(elements))
            return new_list(site, content)
        case ops.ContainerKind.SET:
            return new_set(site, element if elements is None else join_all(elements))
        case _ as never:
            assert_never(never)


def build_slice(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.BuildSlice)
    bounds = [NONE if part is None else site.frame.value(part) for part in (op.lower, op.upper, op.step)]
    return SliceValue(*bounds)


def format_string(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.FormatString)
    texts: list[str] = []
    known = True
    for part in op.parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = site.frame.value(part.value)
        note_contents(site, value)
        format_object(site, value)
        if (
            not isinstance(value, Constant)
            or isinstance(value.value, EnumMember)
            or part.conversion is not None
            or part.spec is not None
        ):
            known = False
            continue
        texts.append(str(value.value))
    if known:
        return Constant("".join(texts))
    return _formatted_path(site, op) or UNKNOWN_STR


def _formatted_path(site: Site, op: ops.FormatString) -> Value | None:
    """`f"{folder}/name"` for a folder with data files."""
    match op.parts:
        case (ops.FormatField(conversion=None, spec=None) as first, str() as rest):
            return formatted_path(site.frame.value(first.value), rest)
        case _:
            return None


def unpack_element(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.UnpackElement)
    value = site.frame.present(op.source)
    items = unpacked_from_loaded(site, value, op.total) if op.star is None and is_loaded(value) else None
    if items is not None:
        return items[op.position]
    source = iterate(site, value)
    if source.elements is None or (op.star is None and len(source.elements) != op.total):
        if op.star is not None and op.position == op.star:
            return new_list(site, FrozenList(None, source.element))
        return source.element if source.elements is None else UNKNOWN
    elements = source.elements
    if op.star is None or op.position < op.star:
        return elements[op.position] if op.position < len(elements) else UNKNOWN
    after = op.total - op.star - 1
    if op.position == op.star:
        rest = elements[op.star : len(elements) - after] if after else elements[op.star :]
        return new_list(site, FrozenList(tuple(rest)))
    position = len(elements) - (op.total - op.position)
    return elements[position] if 0 <= position < len(elements) else UNKNOWN


HANDLERS: dict[type[Op], OpHandler] = {
    **mappings.HANDLERS,
    ops.BuildContainer: build_container,
    ops.BuildSlice: build_slice,
    ops.FormatString: format_string,
    ops.UnpackElement: unpack_element,
    ops.LoadItem: load_item,
    ops.StoreItem: store_item,
    ops.DeleteItem: delete_item,
}
