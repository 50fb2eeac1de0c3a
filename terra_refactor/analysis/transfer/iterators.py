"""The functions of `itertools`.

Computes: their elements, individually if those of the arguments are known and few. Needs: iteration and calls. Gives:
`ITERATOR_FUNCTIONS`, by canonical name.

Approximates: the elements that a function has consumed from an iterator; order and number for `groupby`,
`combinations` and similar functions.
"""

from __future__ import annotations

import itertools
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.ordering import note_comparison, note_decision
from terra_refactor.domain.lattice import join, join_all, python_type
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNKNOWN,
    UNKNOWN_INT,
    Constant,
    PythonType,
    SequenceValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.interpreted import Interpreted, by_name

MAX_PRODUCT: Final = 64
"""Maximum number of distinguished combinations."""


def _product(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if arguments.open_positional is not None:
        return None
    repeat = dict(arguments.keywords).get("repeat", Constant(1))
    if not isinstance(repeat, Constant) or not isinstance(repeat.value, int):
        return None
    found = [iterate(site, value) for value in arguments.positional] * repeat.value
    known = [part.elements for part in found if part.elements is not None]
    total = 1
    for elements in known:
        total *= len(elements)
    if len(known) == len(found) and total <= MAX_PRODUCT:
        return TupleValue(tuple(TupleValue(row) for row in itertools.product(*known)))
    return SequenceValue(TupleValue(tuple(part.element for part in found)), "product")


def _chain(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    parts = list(arguments.positional)
    if arguments.open_positional is not None:
        parts.append(arguments.open_positional)
    return _chained(site, parts, known=arguments.open_positional is None)


def _chain_from(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    source = argument_at(arguments, 0, "iterable")
    if source is None:
        return None
    found = iterate(site, source)
    parts = list(found.elements) if found.elements is not None else [found.element]
    return _chained(site, parts, known=found.elements is not None)


def _chained(site: Site, parts: list[Value], *, known: bool) -> Value:
    found = [iterate(site, part) for part in parts]
    elements: list[Value] = []
    for part in found:
        if part.elements is None:
            known = False
        else:
            elements.extend(part.elements)
    if known:
        return TupleValue(tuple(elements))
    return SequenceValue(join_all(part.element for part in found), "chain")


def _slice(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    source, *bounds = arguments.positional
    found = iterate(site, source)
    numbers = [bound.value for bound in bounds if isinstance(bound, Constant)]
    # an iterator that was advanced before has fewer elements left
    fresh = isinstance(source, TupleValue) or not isinstance(source, SequenceValue)
    if found.elements is not None and fresh and bounds and len(numbers) == len(bounds):
        valid = [number for number in numbers if number is None or (isinstance(number, int) and number >= 0)]
        if len(valid) == len(numbers):
            return TupleValue(tuple(itertools.islice(found.elements, *valid)))
    return SequenceValue(found.element, "islice")


def _same_elements(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`cycle`, and functions that skip elements of the last argument: `takewhile`, `dropwhile`, `filterfalse`."""
    if not arguments.positional:
        return None
    element = iterate(site, arguments.positional[-1]).element
    if len(arguments.positional) > 1 and arguments.positional[0] != NONE and element != BOTTOM:
        note_decision(site, site.call(arguments.positional[0], CallArguments((element,))))
    elif len(arguments.positional) > 1:
        note_decision(site, element)  # `filterfalse(None, ...)` tests the truth of the elements
    return SequenceValue(element, "iterator")


def _compress(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`compress(elements, selectors)` tests the truth of its selectors."""
    if not arguments.positional:
        return None
    element = iterate(site, arguments.positional[0]).element
    if len(arguments.positional) > 1:
        note_decision(site, iterate(site, arguments.positional[1]).element)
    return SequenceValue(element, "iterator")


def _groups(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """Records that `groupby` compares the keys of several elements; its result is computed elsewhere."""
    key = argument_at(arguments, 1, "key")
    if arguments.positional:
        found = iterate(site, arguments.positional[0])
        if key is None or key == NONE:
            note_comparison(site, found)
        elif found.element != BOTTOM and (found.elements is None or len(found.elements) > 1):
            note_decision(site, site.call(key, CallArguments((found.element,))))
    return None


def _repeat(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    value, times = argument_at(arguments, 0, "object"), argument_at(arguments, 1, "times")
    if value is None:
        return None
    if isinstance(times, Constant) and isinstance(times.value, int) and 0 <= times.value <= MAX_PRODUCT:
        return TupleValue((value,) * times.value)
    return SequenceValue(value, "repeat")


def _count(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    start, step = argument_at(arguments, 0, "start"), argument_at(arguments, 1, "step")
    given = [value for value in (start, step) if value is not None]
    is_whole = arguments.open_positional is None and all(python_type(value) is PythonType.INT for value in given)
    return SequenceValue(UNKNOWN_INT if is_whole else UNKNOWN, "count")


def _starmap(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    function, source = arguments.positional
    found = iterate(site, source)
    rows = found.elements if found.elements is not None and len(found.elements) <= 8 else (found.element,)
    results: list[Value] = []
    for index, row in enumerate(rows):
        if row == BOTTOM:
            continue
        parts = iterate(site, row)
        given = CallArguments(parts.elements or (), (), None if parts.elements is not None else parts.element)
        with site.frame.apart(index):
            results.append(site.call(function, given))
    if rows is found.elements:
        return TupleValue(tuple(results))
    return SequenceValue(join_all(results), "starmap")


def _accumulate(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    source, function = argument_at(arguments, 0, "iterable"), argument_at(arguments, 1, "func")
    if source is None or function is None or function == NONE:
        return None
    element = iterate(site, source).element
    total = element
    for _ in range(2):
        total = join(total, site.call(function, CallArguments((total, element))))
    return SequenceValue(total, "accumulate")


def _pairwise(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    if found.elements is not None:
        return TupleValue(tuple(TupleValue(pair) for pair in itertools.pairwise(found.elements)))
    return SequenceValue(TupleValue((found.element,) * 2), "iterator")


def _combinations(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`combinations`, `permutations` and `combinations_with_replacement`: tuples of elements."""
    if not arguments.positional:
        return None
    element, size = iterate(site, arguments.positional[0]).element, argument_at(arguments, 1, "r")
    if isinstance(size, Constant) and isinstance(size.value, int):
        return SequenceValue(TupleValue((element,) * size.value), "iterator")
    return SequenceValue(SequenceValue(element), "iterator")


def _zip_longest(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    fill = dict(arguments.keywords).get("fillvalue", NONE)
    found = [iterate(site, value) for value in arguments.positional]
    known = [part.elements for part in found if part.elements is not None]
    if len(known) == len(found):
        rows = itertools.zip_longest(*known, fillvalue=fill)
        return TupleValue(tuple(TupleValue(row) for row in rows))
    return SequenceValue(TupleValue(tuple(join(part.element, fill) for part in found)), "zip_longest")


ITERATOR_FUNCTIONS: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.PRODUCT: _product,
        Interpreted.CHAIN: _chain,
        Interpreted.CHAIN_FROM: _chain_from,
        Interpreted.SLICE: _slice,
        Interpreted.SAME_ELEMENTS: _same_elements,
        Interpreted.COMPRESS: _compress,
        Interpreted.GROUPS: _groups,
        Interpreted.REPEAT: _repeat,
        Interpreted.COUNT: _count,
        Interpreted.STARMAP: _starmap,
        Interpreted.ACCUMULATE: _accumulate,
        Interpreted.PAIRWISE: _pairwise,
        Interpreted.COMBINATIONS: _combinations,
        Interpreted.ZIP_LONGEST: _zip_longest,
    }
)
