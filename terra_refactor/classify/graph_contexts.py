"""Which contexts run in graphs once some functions are no `tf.function` any more.

Computes: what graphs that stay reach. Needs: facts. Gives: `without`. A change that takes a graph away must not count on it.
"""

from __future__ import annotations

from collections.abc import Set

from terra_refactor.analysis.facts import ContextId, ProgramFacts
from terra_refactor.ir.ids import FunctionId


def without(facts: ProgramFacts, removed: Set[FunctionId]) -> frozenset[ContextId]:
    """The contexts that run in a graph although the decorators of these functions are gone."""
    callers: dict[ContextId, list[ContextId]] = {}
    for context in facts.contexts:
        for call in context.calls:
            for callee in call.callees:
                callers.setdefault(callee, []).append(context.id)
    pending: list[ContextId] = []
    for context in facts.contexts:
        if not context.in_graph:
            continue
        is_own = facts.functions[context.function].hybrid is not None
        if is_own and context.function in removed:
            continue
        outer = callers.get(context.id, ())
        # a decorator, a framework, or a library function that makes a graph of what it is given
        if is_own or not outer or any(not facts.contexts[caller].in_graph for caller in outer):
            pending.append(context.id)
    reached = set(pending)
    while pending:
        for call in facts.contexts[pending.pop()].calls:
            for callee in call.callees:
                if callee not in reached and facts.contexts[callee].in_graph:
                    reached.add(callee)
                    pending.append(callee)
    return frozenset(reached)
