"""From what the interpreter remembers to the facts.

Computes: the contexts that the last round reached, renumbered; callers; recursion; parameters over all calls; reads
of state that other code changes. Needs: a finished interpreter. Gives: `ProgramFacts`, frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import networkx

from terra_refactor.analysis.effects import own_field
from terra_refactor.analysis.facts import (
    CallerFact,
    CallFact,
    ContextFacts,
    ContextId,
    EntryKind,
    FunctionFacts,
    ObjectKind,
    ParameterFacts,
    ProgramFacts,
)
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import join_all, references
from terra_refactor.domain.state import CELL, ITEMS, HeapKey
from terra_refactor.domain.value import Value
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId

if TYPE_CHECKING:
    from terra_refactor.analysis.frames import Summary
    from terra_refactor.analysis.interpreter import Interpreter

_CONSTRUCTORS = frozenset(
    {"__init__", "__new__", "__post_init__", "build", "__setstate__", "__init_subclass__", "setUp", "setup_method"}
)
"""Methods that run before, not between, the calls of others: what they write is not changed behind anybody's back."""


def assemble_facts(
    interpreter: Interpreter, evidence: Mapping[FunctionId, Mapping[str, Evidence]], rounds: int
) -> ProgramFacts:
    """The facts of the last round."""
    live = _live_summaries(interpreter)
    numbers: dict[int, ContextId] = {summary.identity: position for position, summary in enumerate(live)}
    changed = _changed_state(interpreter, live)
    arrivals: dict[FunctionId, dict[str, dict[Value, None]]] = {}
    for summary in live:
        for target, brought in summary.arrivals.items():
            for name, values in brought.items():
                arrivals.setdefault(target, {}).setdefault(name, {}).update(values)
    contexts: list[ContextFacts] = []
    by_function: dict[FunctionId, list[ContextId]] = {}
    callers: dict[FunctionId, list[CallerFact]] = {}
    graph: networkx.DiGraph[FunctionId] = networkx.DiGraph()
    for position, summary in enumerate(live):
        identity = summary.function.id
        by_function.setdefault(identity, []).append(position)
        calls: list[CallFact] = []
        for op, record in sorted(summary.calls.items()):
            callees = tuple(sorted(numbers[callee] for callee in record.callees if callee in numbers))
            calls.append(CallFact(op, callees, tuple(record.library), record.unknown))
            for callee in callees:
                target = live[callee].function.id
                graph.add_edge(identity, target)
                callers.setdefault(target, []).append(CallerFact(position, op))
        reads = _stale_reads(interpreter, summary, changed)
        contexts.append(
            ContextFacts(
                id=position,
                function=identity,
                entry=summary.entry,
                in_graph=summary.in_graph,
                parameters=summary.parameters,
                values=summary.values,
                returns=summary.contents,
                calls=tuple(calls),
                branches=tuple(fact for _, fact in sorted(summary.branches.items())),
                effects=(*summary.effects, *reads),
                failures=tuple(fact for _, fact in sorted(summary.failures.items())),
                problem=summary.problem,
            )
        )
    recursive = {
        node for component in networkx.strongly_connected_components(graph) if len(component) > 1 for node in component
    }
    recursive |= {node for node in graph if graph.has_edge(node, node)} | interpreter.recursive
    unresolved = unresolved_names(live)
    functions: dict[FunctionId, FunctionFacts] = {}
    for module in interpreter.program.modules.values():
        for function in module.functions:
            identity = function.id
            own = [contexts[index] for index in by_function.get(identity, ())]
            wrapped = interpreter.wrapped.get(identity)
            functions[identity] = FunctionFacts(
                function=identity,
                contexts=tuple(by_function.get(identity, ())),
                parameters=_parameters(
                    interpreter, arrivals.get(identity, {}), identity, own, evidence.get(identity, {})
                ),
                returns=join_all(context.returns for context in own),
                callers=tuple(callers.get(identity, ())),
                recursive=identity in recursive,
                hybrid=None if wrapped is None else wrapped[0],
                wrappers=() if wrapped is None else wrapped[1],
                problem=interpreter.problems.get(identity),
                open_callers=function.name in unresolved,
            )
    return ProgramFacts(
        functions=functions,
        contexts=tuple(contexts),
        objects=dict(enumerate(interpreter.objects.facts)),
        missing_rules={name: len(sites) for name, sites in sorted(interpreter.missing_rules.items())},
        rounds=rounds,
    )


def _live_summaries(interpreter: Interpreter) -> list[Summary]:
    """The contexts of the last round; of a function that is called, not those in which it was entered as if nobody called it."""
    current = [summary for summary in interpreter.summaries if summary.round == interpreter.round]
    called = {summary.function.id for summary in current if summary.entry is EntryKind.CALLED}
    reached: dict[int, Summary] = {}
    entered: set[FunctionId] = set()

    def reach(summary: Summary) -> None:
        pending = [summary]
        while pending:
            following = pending.pop()
            if following.identity in reached:
                continue
            reached[following.identity] = following
            entered.add(following.function.id)
            pending.extend(
                interpreter.summaries[callee] for record in following.calls.values() for callee in record.callees
            )

    for summary in current:
        if summary.entry is EntryKind.MODULE:
            reach(summary)
    # what is entered as if nobody called it brings no calls where there are real ones: first those that nothing else reaches
    entries = [summary for summary in current if summary.entry in (EntryKind.UNCALLED, EntryKind.FRAMEWORK)]
    for summary in sorted(entries, key=lambda summary: summary.function.id in called):
        if summary.function.id not in entered:
            reach(summary)
    live = list(reached.values())
    present = {summary.function.id for summary in live}
    # what only an earlier round reached (a call that better knowledge ruled out) is still the best that is known of that function
    latest: dict[FunctionId, Summary] = {}
    for summary in interpreter.summaries:
        if summary.function.id not in present and summary.round >= 0:
            latest[summary.function.id] = summary
    live.extend(latest.values())
    return sorted(live, key=lambda summary: (summary.function.id, summary.identity))


def unresolved_names(live: Iterable[Summary]) -> frozenset[str]:
    """The names under which methods and functions are called where it could not be resolved what that is: `take` for `x.take(...)`."""
    return frozenset(
        record.unknown.rpartition(".")[2]
        for summary in live
        for record in summary.calls.values()
        if record.unknown is not None and not record.library and not record.callees
    )


FieldKey: TypeAlias = tuple[ObjectKind, str, str]
"""A field as told apart between functions: what kind of object, of which class, and the field."""


def _field_key(interpreter: Interpreter, key: HeapKey) -> FieldKey:
    facts = interpreter.objects.facts[key[0]]
    return (facts.kind, facts.name, key[1])


def _changed_state(interpreter: Interpreter, live: list[Summary]) -> dict[FieldKey, set[FunctionId]]:
    """The fields that functions write (constructors and module bodies apart), with the functions that write them.

    Objects are told apart by class only: a callee knows what it is given by a name of its own.
    """
    changed: dict[FieldKey, set[FunctionId]] = {}
    for summary in live:
        code = summary.function
        if code.kind in (FunctionKind.MODULE, FunctionKind.CLASS_BODY) or code.name in _CONSTRUCTORS:
            continue
        for effect in summary.effects:
            if effect.kind is EffectKind.STATE_WRITE and not effect.via and effect.target.object is not None:
                field = own_field(effect.target)
                name = ITEMS if field == "[]" else field.lstrip(".") or CELL
                changed.setdefault(_field_key(interpreter, (effect.target.object, name)), set()).add(code.id)
    return changed


def _stale_reads(
    interpreter: Interpreter, summary: Summary, changed: Mapping[FieldKey, set[FunctionId]]
) -> tuple[Effect, ...]:
    """Reads of state that other functions change between calls."""
    effects: list[Effect] = []
    if not changed:
        return ()
    for key, (site, via) in summary.state_reads.items():
        writers = changed.get(_field_key(interpreter, key))
        if not writers or writers == {summary.function.id}:
            continue
        target = _target_of(interpreter, summary, key)
        effects.append(Effect(EffectKind.STATE_READ, target, f"reads {target}", site, via))
    return tuple(effects)


def _target_of(interpreter: Interpreter, summary: Summary, key: HeapKey) -> Target:
    number, name = key
    facts = interpreter.objects.facts[number]
    path = "[]" if name == ITEMS else "" if name == CELL else f".{name}"
    parameters = summary.function.parameters
    for parameter, value in summary.parameters.items():
        if number in references(value):
            is_self = summary.function.kind is FunctionKind.METHOD and parameters and parameters[0].name == parameter
            return Target(RootKind.SELF if is_self else RootKind.PARAMETER, parameter, path, number)
    if facts.kind.value == "module":
        return Target(RootKind.GLOBAL, name, "", number)
    if facts.kind.value == "cell":
        return Target(RootKind.CLOSURE, facts.name, "", number)
    return Target(RootKind.UNKNOWN, facts.name, path, number)


def _parameters(
    interpreter: Interpreter,
    brought: Mapping[str, Mapping[Value, None]],
    identity: FunctionId,
    own: list[ContextFacts],
    evidence: Mapping[str, Evidence],
) -> tuple[ParameterFacts, ...]:
    code = interpreter.program.function(identity)
    called = any(context.entry is EntryKind.CALLED for context in own)
    arrivals = brought if called else {}
    result: list[ParameterFacts] = []
    for parameter in code.parameters:
        name = parameter.name
        if called and name in arrivals:
            values: tuple[Value, ...] = tuple(arrivals[name])
            reason = Evidence.DATAFLOW
        else:
            values = tuple(dict.fromkeys(context.parameters[name] for context in own if name in context.parameters))
            reason = evidence.get(name, Evidence.NONE)
        result.append(ParameterFacts(name, reason, values))
    return tuple(result)
