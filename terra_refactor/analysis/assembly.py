"""From the state of the interpreter to the facts.

Computes: the contexts that the last round reached, renumbered; callers; recursion; parameters and results over all calls; reads of state
that other code changes. Needs: a finished interpreter. Gives: `ProgramFacts`, frozen; `Assembled`, with which the next run assembles only
changed contexts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Final, TypeVar

from terra_refactor.analysis.assembled import Assembled, AssembledPart
from terra_refactor.analysis.contexts import is_of_object
from terra_refactor.analysis.engine import Code, Engine, Recorder
from terra_refactor.analysis.facts import (
    CallerFact,
    CallFact,
    ContextFacts,
    ContextId,
    Contexts,
    EntryKind,
    FunctionFacts,
    ParameterFacts,
    ProgramFacts,
)
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.reuse import SummaryStore
from terra_refactor.analysis.staleness import StateChanges
from terra_refactor.analysis.testing import is_collected
from terra_refactor.domain.effect import Effect
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import TOO_MANY, join_all
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import RECORDED_AS_A_TENSOR, UNKNOWN_TENSOR, UnknownValue, Value, is_tensor
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Call

_KeyT = TypeVar("_KeyT", bound=Hashable)
_CONTEXT_BITS: Final = 20
"""Number of bits in a context's number for its index within its function; far more than any function needs."""


def assemble_facts(
    engine: Engine,
    evidence: Mapping[FunctionId, Mapping[str, Evidence]],
    rounds: int,
    store: SummaryStore | None = None,
    changed_outside: AbstractSet[FunctionId] = frozenset(),
) -> ProgramFacts:
    """The facts of the last round. With a `store`, unchanged facts of the previous run are reused.

    `changed_outside` are the functions that look different to their callers than in that run.
    """
    before = None if store is None else store.assembled
    live, real = _live_summaries(engine)
    numbers = _numbers(live)
    parts, changed = _parts(engine, live, real, numbers, before)
    old_parts: Mapping[ContextId, AssembledPart] = {} if before is None else before.parts
    was = {number: old_parts[number] for number in changed if number in old_parts}
    gone = [part for number, part in old_parts.items() if number not in parts]
    same_outward = not gone and all(
        number in was and was[number].outward == parts[number].outward for number in changed
    )
    if before is not None and same_outward:
        cycles, changes = before.cycles, before.changes.of(engine)
    else:
        edges: dict[FunctionId, set[FunctionId]] = {}
        for part in parts.values():
            if part.targets:
                edges.setdefault(part.summary.function.id, set()).update(target for target, _ in part.targets)
        cycles, changes = frozenset(on_cycles(edges)), StateChanges(engine, live, real)
    contexts: dict[ContextId, ContextFacts] = {}
    doubtful: set[FunctionId] = set()
    for number, part in parts.items():
        old = None if before is None or number not in old_parts else (before.contexts[number], old_parts[number])
        if old is not None and same_outward and number not in changed:
            contexts[number] = old[0]
            continue
        effects = (*part.summary.effects, *changes.effects_of(part.summary))
        if old is not None and number not in changed and old[0].effects == effects:
            contexts[number] = old[0]
            continue
        facts = _context(number, part, effects)
        if old is not None and old[0] == facts:
            contexts[number] = old[0]
            if old[1].is_real is part.is_real and old[1].summary.arrivals == part.summary.arrivals:
                continue
        else:
            contexts[number] = facts
        for each in (part,) if old is None else (part, old[1]):
            doubtful.update(each.touched)
    for part in gone:
        doubtful.update(part.touched)
    recursive = cycles | engine.recursive.keys()
    unresolved = frozenset[str]().union(*(part.unresolved for part in parts.values() if part.unresolved))
    if before is not None:
        doubtful |= before.recursive ^ recursive
        doubtful |= _different(before.wrapped, engine.wrapped) | _different(before.problems, engine.problems)
        doubtful |= _different(before.evidence, evidence)
    names = unresolved if before is None else before.unresolved ^ unresolved
    # the parameters of uncalled functions may differ, too
    doubtful |= changed_outside
    known_before: Mapping[FunctionId, FunctionFacts] = {} if before is None else before.functions
    everything = [function for module in engine.program.modules.values() for function in module.functions]
    again = [
        function
        for function in everything
        if function.id not in known_before or function.id in doubtful or function.name in names
    ]
    made = _functions(engine, again, parts, contexts, evidence, recursive, unresolved)
    functions: dict[FunctionId, FunctionFacts] = {}
    for function in everything:
        known, new = known_before.get(function.id), made.get(function.id)
        functions[function.id] = known if known is not None and (new is None or new == known) else made[function.id]
    if store is not None:
        changes.forget()
        store.assembled = Assembled(
            parts,
            numbers,
            contexts,
            functions,
            cycles,
            recursive,
            unresolved,
            dict(engine.wrapped),
            dict(engine.problems),
            {identity: dict(given) for identity, given in evidence.items()},
            changes,
        )
    return ProgramFacts(
        functions=functions,
        contexts=Contexts(contexts),
        objects=dict(enumerate(engine.objects.facts)),
        missing_rules={name: len(sites) for name, sites in sorted(engine.missing_rules.items())},
        rounds=rounds,
    )


def _numbers(live: Sequence[Summary]) -> dict[int, ContextId]:
    """The numbers of contexts by the identities of their summaries. Those of one function do not depend on other functions."""
    first: dict[FunctionId, int] = {}
    taken: set[int] = set()
    count = Counter[FunctionId]()
    numbers: dict[int, ContextId] = {}
    for summary in live:
        identity = summary.function.id
        if identity not in first:
            name = f"{identity.module}\0{identity.index}".encode("utf-8", "surrogatepass")
            place = int.from_bytes(blake2b(name, digest_size=5).digest(), "big")
            while place in taken:
                place += 1
            taken.add(place)
            first[identity] = place << _CONTEXT_BITS
        numbers[summary.identity] = first[identity] + count[identity]
        count[identity] += 1
    return numbers


def _parts(
    engine: Code,
    live: Sequence[Summary],
    real: AbstractSet[int],
    numbers: Mapping[int, ContextId],
    before: Assembled | None,
) -> tuple[dict[ContextId, AssembledPart], set[ContextId]]:
    """The parts, and the numbers of those that changed."""
    parts: dict[ContextId, AssembledPart] = {}
    changed: set[ContextId] = set()
    place = {summary.identity: position for position, summary in enumerate(live)}
    old_numbers: Mapping[int, ContextId] = {} if before is None else before.numbers
    # identities whose number changed, or that are new or gone
    moved = _different(old_numbers, numbers)
    for summary in live:
        number = numbers[summary.identity]
        is_real = summary.identity in real
        part = None if before is None else before.parts.get(number)
        if part is not None:
            if part.summary is summary and part.is_real is is_real and part.called.isdisjoint(moved):
                parts[number] = part
                continue
        changed.add(number)
        calls: list[CallFact] = []
        targets: list[tuple[FunctionId, OpId]] = []
        called: set[int] = set()
        for op, record in sorted(summary.calls.items()):
            called.update(record.callees)
            inner = sorted(callee for callee in map(place.get, record.callees) if callee is not None)
            always = sorted(callee for callee in map(place.get, record.certain) if callee is not None)
            callees = tuple(numbers[live[position].identity] for position in inner)
            certain = tuple(numbers[live[position].identity] for position in always)
            of_several = sorted(callee for callee in map(place.get, record.chosen) if callee is not None)
            chosen = tuple(numbers[live[position].identity] for position in of_several)
            calls.append(CallFact(op, callees, record.library, record.unknown, certain, record.open_size, chosen))
            targets.extend((live[position].function.id, op) for position in inner)
        names = _unresolved_names(engine, summary)
        parts[number] = AssembledPart(summary, is_real, tuple(calls), frozenset(called), tuple(targets), names)
    return parts, changed


def _different(before: Mapping[_KeyT, object], now: Mapping[_KeyT, object]) -> set[_KeyT]:
    """The keys under which two tables differ."""
    found = {key for key, value in now.items() if key not in before or before[key] != value}
    found.update(key for key in before if key not in now)
    return found


def _context(number: ContextId, part: AssembledPart, effects: tuple[Effect, ...]) -> ContextFacts:
    summary = part.summary
    return ContextFacts(
        id=number,
        function=summary.function.id,
        entry=summary.entry,
        in_graph=summary.in_graph,
        parameters={name: without_marks(value) for name, value in summary.parameters.items()},
        values=summary.values,
        returns=without_marks(summary.contents),
        calls=part.calls,
        branches=tuple(fact for _, fact in sorted(summary.branches.items())),
        effects=effects,
        failures=tuple(fact for _, fact in sorted(summary.failures.items())),
        guarded_failures=tuple(fact for _, fact in sorted(summary.guarded_failures.items())),
        problem=summary.problem,
        overwrites=summary.overwrites,
    )


def _functions(
    engine: Engine,
    wanted: Sequence[Function],
    parts: Mapping[ContextId, AssembledPart],
    contexts: Mapping[ContextId, ContextFacts],
    evidence: Mapping[FunctionId, Mapping[str, Evidence]],
    recursive: AbstractSet[FunctionId],
    unresolved: AbstractSet[str],
) -> dict[FunctionId, FunctionFacts]:
    """The facts of some functions, over all contexts."""
    own_of: dict[FunctionId, list[ContextFacts]] = {function.id: [] for function in wanted}
    callers: dict[FunctionId, list[CallerFact]] = {}
    arrivals: dict[FunctionId, dict[str, dict[Value, bool]]] = {}
    for number, part in parts.items():
        own = own_of.get(part.summary.function.id)
        if own is not None:
            own.append(contexts[number])
        for target, op in part.targets:
            if target in own_of:
                callers.setdefault(target, []).append(CallerFact(number, op))
        for target, brought in part.summary.arrivals.items():
            if target not in own_of:
                continue
            for name, values in brought:
                known = arrivals.setdefault(target, {}).setdefault(name, {})
                for value in values:
                    known[value] = known.get(value, False) or part.is_real
    functions: dict[FunctionId, FunctionFacts] = {}
    for function in wanted:
        identity = function.id
        own = own_of[identity]
        called_for_real = any(parts[context.id].is_real for context in own)
        returning = [
            context
            for context in own
            if not called_for_real
            or parts[context.id].is_real
            or not any(_says_nothing(value) for value in context.parameters.values())
        ]
        wrapped = engine.wrapped.get(identity)
        functions[identity] = FunctionFacts(
            function=identity,
            contexts=tuple(context.id for context in own),
            parameters=_parameters(engine, arrivals.get(identity, {}), identity, own, evidence.get(identity, {})),
            returns=join_all(context.returns for context in returning),
            callers=tuple(callers.get(identity, ())),
            recursive=identity in recursive,
            hybrid=None if wrapped is None else wrapped[0],
            wrappers=() if wrapped is None else wrapped[1],
            problem=engine.problems.get(identity),
            open_callers=function.name in unresolved,
        )
    return functions


def on_cycles(edges: Mapping[FunctionId, AbstractSet[FunctionId]]) -> set[FunctionId]:
    """The functions from which calls lead back to themselves (Tarjan's strongly connected components, without recursion).

    Not by networkx, whose import takes longer than this: docs/adr/0014.
    """
    found: set[FunctionId] = set()
    order: dict[FunctionId, int] = {}
    lowest: dict[FunctionId, int] = {}
    """The lowest number in `order` on the path that is reachable from each function."""
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


def _is_recorded(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.reason == RECORDED_AS_A_TENSOR


def _is_handed_out(engine: Recorder, function: FunctionId) -> bool:
    """Whether a decorator with unknown behaviour has the function: for example a dispatcher, which may call it with anything."""
    wrapped = engine.wrapped.get(function)
    return wrapped is not None and bool(wrapped[1])


def _live_summaries(engine: Engine) -> tuple[list[Summary], frozenset[int]]:
    """The contexts of the last round. For a function with callers, contexts of entries are left out.

    Also the identities of those reached by modules, tests and decorators, which run in a real program.
    """
    order = {identity: position for position, identity in enumerate(engine.contexts.summaries)}
    current = [summary for summary in engine.contexts.summaries.values() if summary.round == engine.contexts.round]
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
            if is_of_object(following):
                entered.add(following.function.id)
            pending.extend(
                engine.contexts.summaries[callee] for record in following.calls.values() for callee in record.callees
            )

    for summary in current:
        if summary.entry is EntryKind.MODULE:
            reach(summary)
    for summary in current:
        if summary.entry is EntryKind.UNCALLED and (
            is_collected(engine.program, summary.function) or _is_handed_out(engine, summary.function.id)
        ):
            reach(summary)
    real = frozenset(reached)
    # an entry of a called function contributes no calls if there are real ones: first consider entries that nothing
    # else reaches
    entries = [summary for summary in current if summary.entry in (EntryKind.UNCALLED, EntryKind.FRAMEWORK)]
    for summary in sorted(entries, key=lambda summary: summary.function.id in called):
        if summary.function.id not in entered:
            reach(summary)
    present = {summary.function.id for summary in reached.values()}
    # a context that only an earlier round reached (a later round excluded the call) is still the best information
    # about its function; so is a recursive call that a later entry reuses
    latest = {
        summary.function.id: summary
        for summary in engine.contexts.summaries.values()
        if summary.function.id not in present and summary.round >= 0
    }
    for summary in latest.values():
        reach(summary)
    live = list(reached.values())
    modules = engine.program.modules
    functions = (function.id for name in sorted(modules) for function in modules[name].functions)
    place = {identity: number for number, identity in enumerate(functions)}
    return sorted(live, key=lambda summary: (place[summary.function.id], order[summary.identity])), real


def _unresolved_names(engine: Code, summary: Summary) -> frozenset[str]:
    """The names of called methods and functions that could not be resolved: `take` for `x.take(...)`.

    If the callee is an object of too many classes, also its possible methods.
    """
    names: set[str] = set()
    for number, record in summary.calls.items():
        if record.unknown is None or record.library or record.callees:
            continue
        names.add(record.unknown.rpartition(".")[2])
        call = engine.code.op(summary.function, number)
        callee = summary.values[call.function] if isinstance(call, Call) else None
        if isinstance(callee, UnknownValue) and callee.reason == TOO_MANY:
            names.update(("__call__", "call"))
    return frozenset(names)


def _parameters(
    engine: Engine,
    brought: Mapping[str, Mapping[Value, bool]],
    identity: FunctionId,
    own: list[ContextFacts],
    evidence: Mapping[str, Evidence],
) -> tuple[ParameterFacts, ...]:
    code = engine.program.function(identity)
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
            taken = tuple(dict.fromkeys(context.parameters[name] for context in own if name in context.parameters))
            if all(isinstance(value, UnknownValue) for value in values) and taken and all(map(is_tensor, taken)):
                # no call determines it, but its annotation or the body
                values, supposed = taken, ()
                reason = Evidence.ANNOTATION if parameter.has_annotation else Evidence.USAGE
            elif name in engine.recorded.get(identity, ()) and taken and all(map(_is_recorded, taken)):
                values, supposed, reason = taken, (), Evidence.RECORDED
        else:
            values = tuple(dict.fromkeys(context.parameters[name] for context in own if name in context.parameters))
            reason = evidence.get(name, Evidence.NONE)
        is_operand = reason is Evidence.USAGE and name in engine.operands_of(identity)
        result.append(ParameterFacts(name, reason, values, supposed, is_operand))
    return tuple(result)
