"""Whole-program queries of rules, answered without a walk over all contexts for each query.

Computes: the direct and indirect callers of some contexts. Needs: the facts. Gives: `with_all_callers`, `contexts_leading_to`.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.analysis.facts import ContextId, ProgramFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.ir.ids import FunctionId


def with_all_callers(facts: ProgramFacts, contexts: Iterable[ContextId]) -> set[ContextId]:
    """Some contexts, and all their direct and indirect callers."""
    found = set(contexts)
    pending = list(found)
    callers: dict[ContextId, list[ContextId]] = {}
    seen: set[FunctionId] = set()
    while pending:
        called = pending.pop()
        function = facts.function_of(called)
        if function not in seen:
            # each call site of the function is visited once, whichever of its contexts it reaches
            seen.add(function)
            for place in dict.fromkeys(facts.functions[function].callers):
                for call in facts.contexts[place.context].calls:
                    if call.op == place.op:
                        for callee in call.callees:
                            callers.setdefault(callee, []).append(place.context)
        further = {caller for caller in callers.get(called, ()) if caller not in found}
        found |= further
        pending += further
    return found


def contexts_leading_to(codes: Codes, facts: ProgramFacts, function: FunctionId) -> frozenset[ContextId]:
    """The contexts of a function with all their callers: found once for all rules and contexts that ask."""

    def find() -> frozenset[ContextId]:
        return frozenset(with_all_callers(facts, facts.functions[function].contexts))

    return codes.once_with_looks((contexts_leading_to, function), find)
