"""Contexts that still run in graphs after some `tf.function`s are removed.

Computes: the contexts called outside of the remaining graphs; those that a program runs eagerly although they are
wrapped. Needs: facts. Gives: `without`, `is_always_graph`, `run_eagerly_all_the_same`. Used because a change that removes a graph must
not depend on that graph.
"""

from __future__ import annotations

from collections.abc import Set

from terra_refactor.analysis.facts import ContextId, ProgramFacts
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def is_always_graph(facts: ProgramFacts, identity: FunctionId) -> bool:
    """Whether a function is wrapped by `tf.function`, and no call runs it eagerly: as the function that another name wraps, or
    because the program runs graphs eagerly.
    """
    return facts.functions[identity].hybrid is not None and all(each.in_graph for each in facts.contexts_of(identity))


def run_eagerly_all_the_same(facts: ProgramFacts) -> frozenset[ContextId]:
    """The contexts that run eagerly because the program disables traced functions (`run_functions_eagerly`)."""
    asked = any(
        has_trait(name, Trait.RUNS_GRAPHS_EAGERLY)
        for context in facts.contexts
        for call in context.calls
        for name in call.library
    )
    return frozenset(context.id for context in facts.contexts if not context.in_graph) if asked else frozenset()


def without(facts: ProgramFacts, removed: Set[FunctionId]) -> frozenset[ContextId]:
    """The contexts that run in a graph even without the decorators of these functions.

    Callees of a removed graph then run eagerly. Functions that it passes to a library function are assumed to run in
    a graph still.
    """
    entered_eagerly: set[ContextId] = set()
    called: set[ContextId] = set()
    for context in facts.contexts:
        for call in context.calls:
            called.update(call.callees)
            if not context.in_graph:
                entered_eagerly.update(call.callees)
    graphs = {context.id for context in facts.contexts if context.in_graph}
    pending = [
        context.id
        for context in facts.contexts
        if context.function in removed
        and context.in_graph
        and (context.id in entered_eagerly or context.id not in called)
    ]
    while pending:
        context_id = pending.pop()
        if context_id not in graphs:
            continue
        graphs.discard(context_id)
        for call in facts.contexts[context_id].calls:
            if call.library:
                continue
            for callee in call.callees:
                function = facts.contexts[callee].function
                if function in removed or facts.functions[function].hybrid is None:
                    pending.append(callee)
    return frozenset(graphs)


def of_libraries(facts: ProgramFacts) -> frozenset[ContextId]:
    """The contexts that run in a graph regardless of the project's decorators: a dataset or Keras calls them or their callers."""
    return without(facts, {identity for identity, found in facts.functions.items() if found.hybrid is not None})
