"""Whole-program queries of rules, answered without a walk over all contexts for each query.

Computes: whether a library function is called anywhere; the direct and indirect callers of some contexts. Needs: the
facts. Gives: `calls_anywhere`, `with_all_callers`.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.analysis.facts import ContextId, ProgramFacts
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
