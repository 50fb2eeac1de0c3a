"""`sorted`, `min`, `max`, `list.sort`, the functions of `heapq`, and the methods of lists that search.

Computes: their results, and whether they compare tensors created in the call, among their elements or in the results
of `key`. Needs: iteration. Gives: `ORDERING`, by canonical name; `note_decision` for other Python functions that test
the truth of values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, remove, reorder
from terra_refactor.analysis.transfer.iteration import Iteration, iterate
from terra_refactor.analysis.transfer.kept_tensors import has_new_tensor
from terra_refactor.analysis.transfer.special_methods import (
    first_compared,
    note_comparison_with_tensor,
    ordering_of,
    run_equality,
)
from terra_refactor.analysis.transfer.staged import note_branch
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    Constant,
    FrozenList,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.tf_model.interpreted import Interpreted, by_name


def _call_key(site: Site, element: Value, arguments: CallArguments) -> Value | None:
    """Calls the `key` with an element, and records if tensors are compared; returns the key, None if there is none."""
    key = dict(arguments.keywords).get("key")
    if key is None or key == NONE or element == BOTTOM:
        return None if key == NONE else key
    _note_order(site, site.call(key, CallArguments((element,))))
    return key


def _note_order(site: Site, *values: Value) -> None:
    """Records that values are compared by `<`: objects of the program by their own method, whose result is tested."""
    compared = [first_compared(member) for value in values for member in members(value)]
    results = [ordering_of(site, each, join_all(compared)) for each in dict.fromkeys(compared)]
    note_comparison_with_tensor(site, *values)
    note_decision(site, *values, *(result for result in results if result is not None))


def note_decision(site: Site, *values: Value) -> None:
    """Records that the truth of a tensor is tested if one of the values, or the part compared first, is a tensor created in the call."""
    if any(_is_new_tensor(site, value) for value in values):
        note_branch(site.frame, BranchFact(site.op, BranchKind.TENSOR, (True, True), (True, True)))


def note_truth(site: Site, *values: Value) -> None:
    """Records that the truth of a tensor is tested if one of the values is a tensor created in the call.

    Containers are tested by their length.
    """
    note_decision(
        site, *(value for value in values if all(isinstance(member, TensorValue) for member in members(value)))
    )


def _is_new_tensor(site: Site, value: Value) -> bool:
    alternatives = [
        member.elements[0] if isinstance(member, TupleValue) and member.elements else member
        for member in members(value)
    ]
    return bool(alternatives) and all(has_new_tensor(site.frame, member) for member in alternatives)


def note_comparison(site: Site, found: Iteration) -> None:
    """Records that the truth of a tensor is tested if several elements are compared and one is a tensor created in the call.

    Elements of a tensor are excluded: iterating over the tensor already fails in a graph.
    """
    if found.kind is BranchKind.TENSOR:
        return
    if found.elements is None:
        _note_order(site, found.element)
    elif len(found.elements) > 1:
        _note_order(site, *found.elements)


def sorted_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    key = _call_key(site, found.element, arguments)
    if key is None:
        note_comparison(site, found)
    if found.elements is not None:
        ordered = _in_order(found.elements, dict(arguments.keywords).get("reverse")) if key is None else None
        return new_list(site, FrozenList(ordered or (found.element,) * len(found.elements)))
    return new_list(site, FrozenList(None, found.element, found.length))


def _in_order(elements: Sequence[Value], reverse: Value | None) -> tuple[Value, ...] | None:
    """Known strings or known numbers in the order of `sorted`; None if unknown."""
    known = [element.value for element in elements if isinstance(element, Constant)]
    backwards = False if reverse is None else reverse.value if isinstance(reverse, Constant) else None
    if len(known) < len(elements) or not isinstance(backwards, bool):
        return None
    texts = [value for value in known if isinstance(value, str)]
    numbers = [value for value in known if isinstance(value, int | float)]
    if len(texts) == len(known):
        return tuple(Constant(value) for value in sorted(texts, reverse=backwards))
    if len(numbers) == len(known) and not any(math.isnan(value) for value in numbers):
        return tuple(Constant(value) for value in sorted(numbers, reverse=backwards))
    return None


def _extreme(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`min` and `max`, whose results are declared in `tf_model`; with a key, the result is one of the elements."""
    given = arguments.positional
    if dict(arguments.keywords).get("key", NONE) == NONE:
        if len(given) > 1:
            _note_order(site, *given)
        elif given:
            note_comparison(site, iterate(site, given[0]))
    if any(name == "key" for name, _ in arguments.keywords):
        element = given[0] if len(given) > 1 else iterate(site, given[0]).element if given else BOTTOM
        _call_key(site, element, arguments)
        found = join_all(given) if len(given) > 1 else element
        default = dict(arguments.keywords).get("default", BOTTOM)
        return None if found == BOTTOM else join(found, default)
    return None


def _of_second(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`heapq.nlargest(n, values, key=...)`; its result is declared elsewhere."""
    rest = CallArguments(arguments.positional[1:2], arguments.keywords)
    _extreme(site, rest, receiver)
    return None


def _sort(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is not None:
        found = iterate(site, receiver)
        if _call_key(site, found.element, arguments) is None:
            note_comparison(site, found)
    return reorder(site, arguments, receiver)


def _pushed(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`heapq.heappush(heap, item)`, `bisect.bisect(values, item)` and similar functions, which compare an item with the existing ones."""
    if len(arguments.positional) > 1:
        there = iterate(site, arguments.positional[0]).element
        if there != BOTTOM:
            _note_order(site, there, arguments.positional[1])
    return None


def _merged(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    elements = [iterate(site, source).element for source in arguments.positional]
    keys = [_call_key(site, element, arguments) for element in elements]
    if len(elements) > 1 and all(key is None for key in keys):
        _note_order(site, *elements)
    return None


def _heap(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if arguments.positional:
        note_comparison(site, iterate(site, arguments.positional[0]))
    return None


def _find(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`list.index` and similar methods, which compare the argument with the elements."""
    if receiver is not None and arguments.positional:
        run_equality(site, arguments.positional[0], iterate(site, receiver).element)
    return None


def _remove(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    _find(site, arguments, receiver)
    return remove(site, arguments, receiver)


ORDERING: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.SORTED: sorted_,
        Interpreted.EXTREME: _extreme,
        Interpreted.SORT: _sort,
        Interpreted.FIND: _find,
        Interpreted.REMOVE: _remove,
        Interpreted.HEAP_OF_SECOND: _of_second,
        Interpreted.HEAP_PUSH: _pushed,
        Interpreted.HEAP_ORDER: _heap,
        Interpreted.HEAP_MERGE: _merged,
    }
)
