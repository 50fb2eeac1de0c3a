"""Functions passed to unknown datasets (`tfds.load(...)`, a parameter), which trace them.

Computes: the functions without callers that are passed to `map`, `filter` and similar methods of an unknown object
that is used like a dataset, or inside a graph to any method outside of the program (`strategy.run`). Also those that
`strategy.run` calls outside of graphs, which cannot be graphs themselves if they update variables. Needs: facts.
Gives: `given_to_pipelines`, `synchronized_in_replicas`. Ignores: other objects with a method of that name (pandas,
`multiprocessing` and others call their arguments); known datasets, since the analysis enters the functions passed to
these. It is a guess: enough not to add a decorator, not enough to remove one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import CallFact, EntryKind
from terra_refactor.classify.each_context import about_each_context
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import BoundMethod, FunctionValue, PartialValue, UnknownValue, Value, members
from terra_refactor.facts.records import AttributeRead, Call, NameRead, NameWrite
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import FunctionId
from terra_refactor.tf_model.graph_traits import is_of_strategies
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_TRACING: Final = frozenset(
    {"filter", "flat_map", "group_by_window", "interleave", "map", "reduce", "scan", "take_while"}
)
_IN_REPLICAS: Final = frozenset({"run", "experimental_run_v2"})
_OPTIONS: Final = frozenset({"block_length", "cycle_length", "deterministic", "num_parallel_calls"})
_OF_DATA_SETS: Final = frozenset({"batch", "flat_map", "interleave", "padded_batch", "prefetch", "unbatch"})


def given_to_pipelines(hazards: HazardMap) -> frozenset[FunctionId]:
    """The functions called only by unknown datasets, and their callees that only such functions call."""
    facts = hazards.whole_facts
    given_to_some = frozenset[FunctionId]().union(*(given for _, given in hazards.of_each(_given_in)))
    if not given_to_some:
        return frozenset()
    callers = {
        identity: {facts.function_of(place.context) for place in function.callers} - {identity}
        for identity, function in facts.functions.items()
        if identity in given_to_some or (function.callers and not function.open_callers)
    }
    found: set[FunctionId] = set()
    while (
        more := {identity for identity, by in callers.items() if (by or identity in given_to_some) and by <= found}
        - found
    ):
        found |= {identity for identity in more if _is_private_to_program(hazards, identity)}
        callers = {identity: by for identity, by in callers.items() if identity not in more}
    return frozenset(found)


def synchronized_in_replicas(hazards: HazardMap) -> frozenset[FunctionId]:
    """The functions that `strategy.run` calls outside of graphs, and those below them that update variables.

    An update synchronises the replicas, which raises in a graph of one replica: the graph must enclose
    `strategy.run`.
    """
    facts = hazards.whole_facts
    found = set[FunctionId]().union(*(given for _, given in hazards.of_each(_given_to_strategies)))
    pending = list(found)
    while pending:
        for context in facts.contexts_of(pending.pop()):
            for callee in (number for call in context.calls for number in call.callees):
                inner = facts.contexts[callee]
                updates = any(effect.kind is EffectKind.TENSOR_STATE for effect in inner.effects)
                if updates and inner.function not in found:
                    found.add(inner.function)
                    pending.append(inner.function)
    return frozenset(found)


@about_each_context
def _given_in(view: ContextView) -> frozenset[FunctionId]:
    """The functions that a context passes to unknown datasets, or in a graph to methods that call them while it is traced."""
    found: set[FunctionId] = set()
    in_graph = view.context.in_graph
    for call in view.code.of_kind(Call):
        if call.owner is None or not (in_graph or call.method in _TRACING):
            continue
        handed = {identity for each in call.arguments for identity in _functions(view.value(each.value))}
        if not handed:
            continue
        fact = view.calls.get(call.op)
        if in_graph and (fact is None or not fact.callees) and not _runs_eagerly(fact):
            # `strategy.run(step, ...)` in a graph: it is called while the graph is traced
            found |= handed
        if call.method in _TRACING and handed - found and view.all_are(call.owner, UnknownValue):
            if _is_of_data_set(view, call):
                found |= handed
    return frozenset(found)


@about_each_context
def _given_to_strategies(view: ContextView) -> frozenset[FunctionId]:
    """The functions that a context calls by `strategy.run`, outside of graphs."""
    if view.context.in_graph:
        return frozenset()
    return frozenset(
        identity
        for call in view.code.of_kind(Call)
        if call.owner is not None and call.method in _IN_REPLICAS and _is_of_strategy(view, call)
        for each in call.arguments
        for identity in _functions(view.value(each.value))
    )


def _is_of_strategy(view: ContextView, call: Call) -> bool:
    """Whether a method `run` is that of a strategy, or of an unknown object called with a strategy's arguments; false
    for `app.run(main)`.
    """
    fact = view.calls.get(call.op)
    if fact is None or any(is_of_strategies(name) for name in fact.library):
        return fact is not None
    return not fact.library and (len(call.positional) > 1 or call.keyword("args") is not None)


def _is_private_to_program(hazards: HazardMap, identity: FunctionId) -> bool:
    """Whether no framework calls it."""
    contexts = hazards.whole_facts.contexts_of(identity)
    return all(context.entry in (EntryKind.CALLED, EntryKind.UNCALLED) for context in contexts)


def _runs_eagerly(fact: CallFact | None) -> bool:
    return fact is not None and any(has_trait(name, Trait.HOST_CALLBACK) for name in fact.library)


def _functions(value: Value) -> Iterator[FunctionId]:
    for member in members(value):
        if isinstance(member, FunctionValue):
            yield FunctionId(*member.function)
        elif isinstance(member, PartialValue | BoundMethod):
            yield from _functions(member.function)


def _is_of_data_set(view: ContextView, call: Call) -> bool:
    """Whether the method receives arguments that only datasets take, or its object or result has methods that only
    datasets have.
    """
    if any(argument.keyword in _OPTIONS for argument in call.arguments):
        return True
    same = {call.op}
    receiver = call.owner
    while receiver is not None:
        # its value before the intermediate calls
        same.add(receiver)
        before = view.made(receiver)
        receiver = before.owner if isinstance(before, Call) else None
    names = {write.name for write in view.code.of_kind(NameWrite) if write.value in same}
    names |= {read.name for read in view.code.of_kind(NameRead) if read.op in same}
    same |= {read.op for name in names for read in view.code.reads_of(name)}
    return any(read.name in _OF_DATA_SETS and read.owner in same for read in view.code.of_kind(AttributeRead))
