"""`sorted`, `min`, `max` and `list.sort`.

Computes: what they give, and whether a `key` gives tensors that the call makes, which they compare. Needs: iteration. Gives: `ORDERING`,
by canonical name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.container_methods import CONTAINER_METHODS, BuiltinHandler
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.kept_tensors import has_new_tensor
from terra_refactor.analysis.transfer.staged import note_branch
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.value import BOTTOM, NONE, Constant, FrozenList, Value


def _call_key(site: Site, element: Value, arguments: CallArguments) -> Value | None:
    """Calls the `key` with an element, and notes if tensors are compared; the key, None if there is none."""
    frame = site.frame
    key = dict(arguments.keywords).get("key")
    if key is None or key == NONE or element == BOTTOM:
        return None if key == NONE else key
    if has_new_tensor(frame, site.call(key, CallArguments((element,)))):
        note_branch(frame, BranchFact(site.op, BranchKind.TENSOR, (True, True), (True, True)))
    return key


def sorted_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    key = _call_key(site, found.element, arguments)
    if found.elements is not None:
        ordered = _in_order(found.elements, dict(arguments.keywords).get("reverse")) if key is None else None
        return new_list(site, FrozenList(ordered or (found.element,) * len(found.elements)))
    return new_list(site, FrozenList(None, found.element, found.length))


def _in_order(elements: Sequence[Value], reverse: Value | None) -> tuple[Value, ...] | None:
    """Known texts, or known numbers, as `sorted` orders them; None where that is not known."""
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
    """The results of `min` and `max` come from the declarations; with a key it is one of the elements."""
    if any(name == "key" for name, _ in arguments.keywords):
        given = arguments.positional
        element = given[0] if len(given) > 1 else iterate(site, given[0]).element if given else BOTTOM
        _call_key(site, element, arguments)
        found = join_all(given) if len(given) > 1 else element
        default = dict(arguments.keywords).get("default", BOTTOM)
        return None if found == BOTTOM else join(found, default)
    return None


def _of_second(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`heapq.nlargest(n, values, key=...)`, which is declared elsewhere, too."""
    rest = CallArguments(arguments.positional[1:2], arguments.keywords)
    _extreme(site, rest, receiver)
    return None


def _sort(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is not None and arguments.keywords:
        _call_key(site, iterate(site, receiver).element, arguments)
    return CONTAINER_METHODS["builtins.list.sort"](site, arguments, receiver)


ORDERING: Final[dict[str, BuiltinHandler]] = {
    "builtins.sorted": sorted_,
    "builtins.min": _extreme,
    "builtins.max": _extreme,
    "builtins.list.sort": _sort,
    "heapq.nlargest": _of_second,
    "heapq.nsmallest": _of_second,
}
