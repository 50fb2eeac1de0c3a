"""Iterators that outlive the expression that creates them: each reader consumes elements, which the next one misses.

Computes: an object for an iterator that is stored in a name, an attribute or a container, or passed to a function of
the program; the effect of a read, which advances it. Needs: the heap. Gives: `as_object`, `advance`,
`is_kept_iterator`, `ITERATORS`.

Approximates: an iterator that was read once may have any number of its elements left.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.lattice import join_all, list_element
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    BoundMethod,
    FrozenList,
    LibraryValue,
    Reference,
    SequenceValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op, Spread
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

ITERATORS: Final = frozenset(
    {
        *(
            "accumulate",
            "chain",
            "count",
            "enumerate",
            "filter",
            "generator",
            "islice",
            "iterator",
            "map",
            "product",
            "repeat",
        ),
        *("starmap", "zip", "zip_longest"),
    }
)
"""Kinds of `SequenceValue` that are exhausted after being read."""
_READERS: Final = (ops.For, ops.Comprehension, ops.With, ops.YieldFrom, ops.UnpackElement, ops.Compare)
"""Operations that consume an iterator without keeping it."""


def as_object(site: Site, value: Value) -> Value:
    """The result of an operation: an iterator becomes an object, unless its only use is the operation that consumes it."""
    alternatives = members(value)
    # all elements of an iterator may be known: the operation distinguishes it from a tuple
    made_by = _maker(site) if any(isinstance(each, TupleValue) for each in alternatives) else None
    if made_by is None and not any(isinstance(each, SequenceValue) and each.kind in ITERATORS for each in alternatives):
        return value
    if all(_is_read_at_once(site, reader) for reader in site.engine.code.readers(site.frame.function, site.op)):
        return value
    return join_all(_kept(site, member, made_by) for member in alternatives)


def _is_read_at_once(site: Site, reader: Op) -> bool:
    if not isinstance(reader, ops.Call):
        return isinstance(reader, _READERS)
    if any(argument.value == site.op and argument.spread is Spread.STAR for argument in reader.arguments):
        return True
    return all(
        isinstance(callee, LibraryValue)
        or (isinstance(callee, BoundMethod) and isinstance(callee.function, LibraryValue))
        for callee in members(site.frame.value(reader.function))
    )


def _kept(site: Site, value: Value, made_by: str | None) -> Value:
    match value:
        case SequenceValue(element, kind, length) if kind in ITERATORS:
            content, name = FrozenList(None, element, length), kind
        case TupleValue(elements) if made_by is not None:
            content, name = FrozenList(elements), made_by
        case _:
            return value
    number = site.allocate(ObjectKind.ITERATOR, name)
    site.frame.state.set((number, ITEMS), content)
    return Reference(number)


def _maker(site: Site) -> str | None:
    """The type of the iterator that the operation creates, by the library function or the kind of comprehension; None
    for others.
    """
    if isinstance(site.operation(site.op), ops.Comprehension):
        return "generator"
    names = site.frame.call_record(site.op).library
    return next((name.rpartition(".")[2] for name in sorted(names) if has_trait(name, Trait.MAKES_ITERATOR)), None)


def is_kept_iterator(site: Site, value: Value) -> bool:
    """Whether a value is an iterator with an object of its own."""
    return isinstance(value, Reference) and site.engine.objects.facts[value.object].kind is ObjectKind.ITERATOR


def reading(site: Site) -> str:
    """The source text of the operation that consumes the iterator."""
    op = site.operation(site.op)
    return (
        f"for ... in {site.written(op.iterable)}"
        if isinstance(op, ops.For | ops.Comprehension)
        else site.written(site.op)
    )


def advance(site: Site, iterator: Reference) -> None:
    """Records that the operation advances the iterator: its next reader may find no element."""
    write_effect(site, iterator.object, ITEMS, reading(site), kind=EffectKind.ITERATE)
    content = site.frame.state.get((iterator.object, ITEMS))
    if isinstance(content, FrozenList) and content.elements != ():
        site.frame.state.set((iterator.object, ITEMS), FrozenList(None, list_element(content)))
