"""Scratch attributes, which a function uses as local variables: a call writes them before it reads them, and no other
code reads them.

Computes: whether an attribute is one for a function. Needs: which attributes calls write before they read them
(`ContextFacts.overwrites`), and who reads attributes of that name. Gives: `is_scratch`, `readers_outside`. Ignores:
readers outside of the program.
"""

from __future__ import annotations

from collections.abc import Callable

from terra_refactor.analysis.facts import EntryKind, ProgramFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.ir.ids import FunctionId


def is_scratch(facts: ProgramFacts, codes: Codes, asked: tuple[FunctionId, str]) -> bool:
    """Whether no value of the attribute passes from one call of the function to another, or to other code."""
    identity, attribute = asked
    # an attribute that is never read is written for code outside of the program
    return (
        _overwrites(facts, codes, identity, attribute)
        and bool(codes.readers_of(attribute))
        and not readers_outside(facts, codes, identity, attribute)
    )


def readers_outside(
    facts: ProgramFacts,
    codes: Codes,
    identity: FunctionId,
    attribute: str,
    *,
    by_name: bool = False,
    reads: Callable[[FunctionId], bool] = lambda reader: True,
) -> bool:
    """Whether some function of the program may read the value that a call of this one leaves in the attribute.

    With `by_name`, only functions that name it, or enumerate the attributes of their own object, not those of an
    argument. `reads`: the readers to consider.
    """
    around = _around(facts, identity)
    return any(
        not _is_closed(facts, codes, reader, identity, attribute, around)
        for reader in codes.readers_of(attribute, by_name=by_name)
        if reads(reader)
    )


def _overwrites(facts: ProgramFacts, codes: Codes, identity: FunctionId, attribute: str) -> bool:
    return attribute in codes.answered(_overwritten, facts, identity)


def _overwritten(codes: Codes, facts: ProgramFacts, identity: FunctionId) -> frozenset[str]:
    """The attributes that each call of a function writes before it reads them."""
    contexts = facts.contexts_of(identity)
    return frozenset.intersection(*(context.overwrites for context in contexts)) if contexts else frozenset()


def _is_only_called(codes: Codes, facts: ProgramFacts, identity: FunctionId) -> bool:
    """Whether nothing but calls in the program runs a function."""
    found = facts.functions[identity]
    return (
        not found.open_callers
        and bool(facts.calling(identity))
        and all(context.entry is EntryKind.CALLED for context in facts.contexts_of(identity))
    )


def _around(facts: ProgramFacts, identity: FunctionId) -> frozenset[FunctionId]:
    """The functions of which a call of the function may be a part."""
    pending, seen = [identity], {identity}
    while pending:
        found = set(facts.calling(pending.pop())) - seen
        pending.extend(found)
        seen |= found
    return frozenset(seen)


def _is_closed(
    facts: ProgramFacts,
    codes: Codes,
    reader: FunctionId,
    outer: FunctionId,
    attribute: str,
    around: frozenset[FunctionId],
) -> bool:
    """Whether every call of the reader is made, directly or indirectly, by the outer function, or by one that writes
    the attribute first.
    """
    pending, seen = [reader], {outer}
    while pending:
        identity = pending.pop()
        if identity in seen:
            continue
        seen.add(identity)
        if identity not in around and _overwrites(facts, codes, identity, attribute):
            continue
        if not codes.answered(_is_only_called, facts, identity):
            return False
        pending.extend(facts.calling(identity))
    return True
