"""From what the interpreter remembers to the facts.

Computes: the contexts that the last round reached, renumbered; callers; recursion; parameters and results over all calls; reads
of state that other code changes. Needs: a finished interpreter. Gives: `ProgramFacts`, frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from terra_refactor.analysis.facts import (
    CallerFact,
    CallFact,
    ContextFacts,
    ContextId,
    EntryKind,
    FunctionFacts,
    ParameterFacts,
    ProgramFacts,
)
from terra_refactor.analysis.staleness import StateChanges
from terra_refactor.analysis.testing import is_collected
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import TOO_MANY, join_all
from terra_refactor.domain.value import UNKNOWN_TENSOR, UnknownValue, Value
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import Call

if TYPE_CHECKING:
    from terra_refactor.analysis.frames import Summary
    from terra_refactor.analysis.interpreter import Interpreter


def assemble_facts(
    interpreter: Interpreter, evidence: Mapping[FunctionId, Mapping[str, Evidence]], rounds: int
) -> ProgramFacts:
    """The facts of the last round."""
    live, real = _live_summaries(interpreter)
    numbers: dict[int, ContextId] = {summary.identity: position for position, summary in enumerate(live)}
    changes = StateChanges(interpreter, live)
    arrivals: dict[FunctionId, dict[str, dict[Value, bool]]] = {}
    for summary in live:
        is_real = summary.identity in real
        for target, brought in summary.arrivals.items():
            for name, values in brought:
                known = arrivals.setdefault(target, {}).setdefault(name, {})
                for value in values:
                    known[value] = known.get(value, False) or is_real
    contexts: list[ContextFacts] = []
    by_function: dict[FunctionId, list[ContextId]] = {}
    callers: dict[FunctionId, list[CallerFact]] = {}
    edges: dict[FunctionId, set[FunctionId]] = {}
    for position, summary in enumerate(live):
        identity = summary.function.id
        by_function.setdefault(identity, []).append(position)
        calls: list[CallFact] = []
        for op, record in sorted(summary.calls.items()):
            callees = tuple(sorted(numbers[callee] for callee in record.callees if callee in numbers))
            certain = tuple(sorted(numbers[callee] for callee in record.certain if callee in numbers))
            calls.append(CallFact(op, callees, record.library, record.unknown, certain))
            for callee in callees:
                target = live[callee].function.id
                edges.setdefault(identity, set()).add(target)
                callers.setdefault(target, []).append(CallerFact(position, op))
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
                effects=(*summary.effects, *changes.effects_of(summary)),
                failures=tuple(fact for _, fact in sorted(summary.failures.items())),
                guarded_failures=tuple(fact for _, fact in sorted(summary.guarded_failures.items())),
                problem=summary.problem,
            )
        )
    recursive = on_cycles(edges) | interpreter.recursive.keys()
    unresolved = unresolved_names(interpreter, live)
    functions: dict[FunctionId, FunctionFacts] = {}
    for module in interpreter.program.modules.values():
        for function in module.functions:
            identity = function.id
            own = [contexts[index] for index in by_function.get(identity, ())]
            called_for_real = any(live[context.id].identity in real for context in own)
            returning = [
                context
                for context in own
                if not called_for_real
                or live[context.id].identity in real
                or not any(_says_nothing(value) for value in context.parameters.values())
            ]
            wrapped = interpreter.wrapped.get(identity)
            functions[identity] = FunctionFacts(
                function=identity,
                contexts=tuple(by_function.get(identity, ())),
                parameters=_parameters(
                    interpreter, arrivals.get(identity, {}), identity, own, evidence.get(identity, {})
                ),
                returns=join_all(context.returns for context in returning),
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


def on_cycles(edges: Mapping[FunctionId, AbstractSet[FunctionId]]) -> set[FunctionId]:
    """The functions from which calls lead back to themselves (Tarjan's strongly connected components, without recursion).

    Not by networkx: importing it takes 0.18 s of processor time, a tenth of the language server's start.
    """
    found: set[FunctionId] = set()
    order: dict[FunctionId, int] = {}
    lowest: dict[FunctionId, int] = {}
    """The earliest function of the path that is reached from there."""
    path: list[FunctionId] = []
    on_path: set[FunctionId] = set()
    for start in edges:
        work = [] if start in order else [(start, iter(edges[start]))]
        while work:
            node, following = work[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                path.append(node)
                on_path.add(node)
            for target in following:
                if target not in order:
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_path:
                    lowest[node] = min(lowest[node], order[target])
            else:
                work.pop()
                if work:
                    caller = work[-1][0]
                    lowest[caller] = min(lowest[caller], lowest[node])
                if lowest[node] == order[node]:
                    component = {node}
                    while (last := path.pop()) != node:
                        component.add(last)
                    on_path -= component
                    if len(component) > 1 or node in edges.get(node, ()):
                        found |= component
    return found


def _says_nothing(value: Value) -> bool:
    return isinstance(value, UnknownValue) or value == UNKNOWN_TENSOR


def _live_summaries(interpreter: Interpreter) -> tuple[list[Summary], frozenset[int]]:
    """The contexts of the last round; of a function that is called, not those in which it was entered as if nobody called it.

    Besides, the identities of those that the modules and the tests reach: a program that runs calls them.
    """
    order = {identity: position for position, identity in enumerate(interpreter.contexts.summaries)}
    current = [
        summary for summary in interpreter.contexts.summaries.values() if summary.round == interpreter.contexts.round
    ]
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
                interpreter.contexts.summaries[callee]
                for record in following.calls.values()
                for callee in record.callees
            )

    for summary in current:
        if summary.entry is EntryKind.MODULE:
            reach(summary)
    for summary in current:
        if summary.entry is EntryKind.UNCALLED and is_collected(interpreter.program, summary.function):
            reach(summary)
    real = frozenset(reached)
    # what is entered as if nobody called it brings no calls where there are real ones: first those that nothing else reaches
    entries = [summary for summary in current if summary.entry in (EntryKind.UNCALLED, EntryKind.FRAMEWORK)]
    for summary in sorted(entries, key=lambda summary: summary.function.id in called):
        if summary.function.id not in entered:
            reach(summary)
    live = list(reached.values())
    present = {summary.function.id for summary in live}
    # what only an earlier round reached (a call that better knowledge ruled out) is still the best that is known of that function
    latest: dict[FunctionId, Summary] = {}
    for summary in interpreter.contexts.summaries.values():
        if summary.function.id not in present and summary.round >= 0:
            latest[summary.function.id] = summary
    live.extend(latest.values())
    return sorted(live, key=lambda summary: (summary.function.id, order[summary.identity])), real


def unresolved_names(interpreter: Interpreter, live: Iterable[Summary]) -> frozenset[str]:
    """The names under which methods and functions are called where it could not be resolved what that is: `take` for `x.take(...)`.

    Where an object of too many classes to tell apart is called, also what runs then.
    """
    names: set[str] = set()
    for summary in live:
        for number, record in summary.calls.items():
            if record.unknown is None or record.library or record.callees:
                continue
            names.add(record.unknown.rpartition(".")[2])
            call = interpreter.op(summary.function, number)
            callee = summary.values[call.function] if isinstance(call, Call) else None
            if isinstance(callee, UnknownValue) and callee.reason == TOO_MANY:
                names.update(("__call__", "call"))
    return frozenset(names)


def _parameters(
    interpreter: Interpreter,
    brought: Mapping[str, Mapping[Value, bool]],
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
        supposed: tuple[Value, ...] = ()
        if called and name in arrivals:
            values: tuple[Value, ...] = tuple(arrivals[name])
            if any(arrivals[name].values()):
                supposed = tuple(
                    value for value, is_real in arrivals[name].items() if not is_real and _says_nothing(value)
                )
            reason = Evidence.DATAFLOW
        else:
            values = tuple(dict.fromkeys(context.parameters[name] for context in own if name in context.parameters))
            reason = evidence.get(name, Evidence.NONE)
        result.append(ParameterFacts(name, reason, values, supposed))
    return tuple(result)
