"""Functions that are given to data sets of which nothing but their methods is known (`tfds.load(...)`, a parameter): these trace them.

Computes: which functions nobody calls that are given to `map`, `filter` and the like of an unknown object that is used as a data set is,
or inside of a graph to any method that is not of the program (`strategy.run`).
Needs: facts. Gives: `given_to_pipelines`. Ignores: objects that only have a method of such a name: those of pandas, `multiprocessing` and
others call what they are given; data sets that are known, since the analysis enters what these are given.

It is a guess: enough to add nothing, not enough to take anything away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import CallFact, EntryKind
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import FunctionValue, PartialValue, UnknownValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.view import ContextView

_TRACING: Final = frozenset(
    {"filter", "flat_map", "group_by_window", "interleave", "map", "reduce", "scan", "take_while"}
)
_EAGERLY: Final = frozenset({"tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.compat.v1.py_func"})
_OPTIONS: Final = frozenset({"block_length", "cycle_length", "deterministic", "num_parallel_calls"})
_OF_DATA_SETS: Final = frozenset({"batch", "flat_map", "interleave", "padded_batch", "prefetch", "unbatch"})


def given_to_pipelines(hazards: HazardMap) -> frozenset[FunctionId]:
    """The functions that only unknown data sets call, and what only such functions call."""
    facts = hazards.whole_facts
    given_to_some: set[FunctionId] = set()
    for context in facts.contexts:
        view = hazards.view(context)
        for call in view.code.of_kind(ops.Call):
            method = view.op(call.function)
            if not isinstance(method, ops.LoadAttribute):
                continue
            fact = view.calls.get(call.id)
            if context.in_graph and (fact is None or not fact.callees) and not _runs_eagerly(fact):
                # `strategy.run(step, ...)` in a graph: whoever calls it does so while the graph is traced
                given_to_some.update(_handed_over(view, call))
            if method.name not in _TRACING:
                continue
            given = {identity for each in call.arguments for identity in _functions(view.value(each.value))}
            if given - given_to_some and _is_unknown(view.value(method.object)) and _is_of_data_set(view, call, method):
                given_to_some |= given
    callers = {
        identity: {facts.function_of(place.context) for place in function.callers} - {identity}
        for identity, function in facts.functions.items()
        if identity in given_to_some or (function.callers and not function.open_callers)
    }
    found: set[FunctionId] = set()
    while given_to_some and (
        more := {identity for identity, by in callers.items() if (by or identity in given_to_some) and by <= found}
        - found
    ):
        found |= {identity for identity in more if _is_private_to_program(hazards, identity)}
        callers = {identity: by for identity, by in callers.items() if identity not in more}
    return frozenset(found)


def _is_private_to_program(hazards: HazardMap, identity: FunctionId) -> bool:
    """Whether no framework enters it as one of its own."""
    contexts = hazards.whole_facts.contexts_of(identity)
    return all(context.entry in (EntryKind.CALLED, EntryKind.UNCALLED) for context in contexts)


def _runs_eagerly(fact: CallFact | None) -> bool:
    return fact is not None and not _EAGERLY.isdisjoint(fact.library)


def _handed_over(view: ContextView, call: ops.Call) -> Iterator[FunctionId]:
    for each in call.arguments:
        yield from _functions(view.value(each.value))


def _functions(value: Value) -> Iterator[FunctionId]:
    for member in members(value):
        if isinstance(member, FunctionValue):
            yield FunctionId(*member.function)
        elif isinstance(member, PartialValue):
            yield from _functions(member.function)


def _is_unknown(value: Value) -> bool:
    alternatives = members(value)
    return bool(alternatives) and all(isinstance(member, UnknownValue) for member in alternatives)


def _is_of_data_set(view: ContextView, call: ops.Call, method: ops.LoadAttribute) -> bool:
    """Whether the method is given what only those of data sets take, or its object or result has methods that only data sets have."""
    if any(argument.keyword in _OPTIONS for argument in call.arguments):
        return True
    same = {call.id, method.object}
    receiver: OpId | None = method.object
    while receiver is not None:
        # what it was before the calls in between
        op = view.op(receiver)
        function = view.op(op.function) if isinstance(op, ops.Call) else None
        receiver = function.object if isinstance(function, ops.LoadAttribute) else None
        if receiver is not None:
            same.add(receiver)
    names = {op.name for op in view.code.of_kind(ops.StoreName) if op.value in same}
    names |= {op.name for op in view.code.of_kind(ops.LoadName) if op.id in same}
    return any(
        op.name in _OF_DATA_SETS
        and (op.object in same or (isinstance(of := view.op(op.object), ops.LoadName) and of.name in names))
        for op in view.code.of_kind(ops.LoadAttribute)
    )
