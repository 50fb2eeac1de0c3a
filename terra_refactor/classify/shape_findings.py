"""Findings about operations that certainly fail: TR401, TR402, TR403.

Computes: which failures lie on a definite path from the program's start, with the calls along it and the origins of
the operands. Needs: facts. Gives: `failures`. A context that is called only under an undecided condition about its
caller's arguments is not on such a path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind, FailureFact, ProgramFacts
from terra_refactor.classify.expected import Expected
from terra_refactor.classify.generation import tensorflow_1_modules
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.proof import UP_TO_TENSOR, Proof
from terra_refactor.classify.replaced import Replaced
from terra_refactor.domain.value import TensorValue, members
from terra_refactor.facts.records import Call, Fact, ItemRead, Operation
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.program import Program
from terra_refactor.rules.registry import rules_by_failure
from terra_refactor.rules.rule import Doubt, Finding, RelatedPlace, Severity
from terra_refactor.tf_model.releases import behaviour_of

ENDS_BEFORE: Final = "if the program does not end before"
"""The doubt about an operation behind a certain exception."""


def failures(
    program: Program,
    facts: ProgramFacts,
    hazards: HazardMap,
    proof: Proof,
    expected: Expected,
    certain: Mapping[ContextId, tuple[ContextId, OpId] | None],
) -> Iterator[Finding]:
    """Operations that certainly fail, in the contexts of definite calls; `certain` is the result of `definitely_reached`."""
    old = tensorflow_1_modules(facts)
    replaced = Replaced(hazards, proof.makings)
    reached = dict(certain)
    _follow(facts, expected, reached, by_choice=True)
    for context in facts.contexts:
        code = program.function(context.function)
        if context.problem is not None or code.kind is FunctionKind.CLASS_BODY or context.id not in reached:
            continue
        for failure in context.failures:
            if failure.operation in ("==", "!=") and context.function.module in old:
                # identity of tensors
                continue
            if not expected.holds(context, failure.op) or replaced.may_be_behind(context, failure):
                continue
            if context.id not in certain and proof.makings.rests_on_arguments(context, failure.op):
                continue
            rule = rules_by_failure().get(failure.kind)
            if rule is not None:
                module = program.modules[context.function.module]
                places = (
                    *_operands(hazards.view(context), failure, module.path),
                    *_way(program, facts, reached, context),
                )
                span, fact = code.span_of(failure.op), hazards.index(context.function).facts[failure.op]
                function = "" if code.kind is FunctionKind.MODULE else code.qualname
                found = Finding(
                    rule.id,
                    rule.name,
                    rule.severity,
                    module.path,
                    span,
                    failure.message,
                    related=places,
                    function=function,
                    release=failure.only
                    or behaviour_of(failure.operation, by_position=isinstance(fact, Call) and bool(fact.positional)),
                )
                doubt = proof.doubt_of_failure(context, failure) or _doubt_of_way(
                    facts, reached, proof, expected, context, failure
                )
                if failure.in_files:
                    # the content of a file follows from no value of the program: one doubt says it
                    yield doubted(found, failure.in_files)
                else:
                    yield found if doubt is None else doubted(found, doubt)


def doubted(finding: Finding, doubt: Doubt) -> Finding:
    """The finding as a warning that names the condition under which it holds."""
    if isinstance(doubt, str):
        return replace(finding, severity=Severity.WARNING, message=f"{finding.message} ({doubt})")
    return replace(finding, severity=Severity.WARNING, message=f"{finding.message} ({doubt.condition})", release=doubt)


def definitely_reached(facts: ProgramFacts, expected: Expected) -> dict[ContextId, tuple[ContextId, OpId] | None]:
    """The contexts that the program reaches without conditions that may exclude them, each with its call; None for
    entries.

    A call whose exceptions are expected is not followed.
    """
    found: dict[ContextId, tuple[ContextId, OpId] | None] = {
        context.id: None
        for context in facts.contexts
        if context.entry is not EntryKind.CALLED and expected.starts(context)
    }
    _follow(facts, expected, found, by_choice=False)
    return found


def _follow(
    facts: ProgramFacts,
    expected: Expected,
    found: dict[ContextId, tuple[ContextId, OpId] | None],
    *,
    by_choice: bool,
) -> None:
    """Adds the callees of the found contexts; with `by_choice` also those of calls with several possible callees."""
    pending = deque(found)
    while pending:
        context = facts.contexts[pending.popleft()]
        for call in context.calls:
            callees = (*call.certain, *call.chosen) if by_choice and call.chosen else call.certain
            if not callees:
                continue
            new = [callee for callee in callees if callee not in found]
            for callee in new if new and expected.holds(context, call.op) else ():
                if callee not in found:
                    found[callee] = (context.id, call.op)
                    pending.append(callee)


def _way(
    program: Program,
    facts: ProgramFacts,
    reached: dict[ContextId, tuple[ContextId, OpId] | None],
    context: ContextFacts,
) -> Iterator[RelatedPlace]:
    """The calls that lead to a context, the nearest first."""
    step = reached[context.id]
    while step is not None:
        caller, op = facts.contexts[step[0]], step[1]
        code = program.function(caller.function)
        path = program.modules[caller.function.module].path
        yield RelatedPlace(path, code.span_of(op), f"called from {code.qualname}")
        step = reached[caller.id]


def _doubt_of_way(
    facts: ProgramFacts,
    reached: dict[ContextId, tuple[ContextId, OpId] | None],
    proof: Proof,
    expected: Expected,
    context: ContextFacts,
    failure: FailureFact,
) -> Doubt | None:
    """The doubt about a path: the program may end before it reaches the place, or the options that lead there may
    require others to differ from their defaults.
    """
    at: tuple[ContextFacts, OpId] | None = (context, failure.op)
    while at is not None:
        missing = proof.missing_before(*at)
        if missing is not None:
            return f"if `{missing}`, which is used before, is defined elsewhere"
        if expected.is_behind_end(*at):
            return ENDS_BEFORE
        if proof.is_up_to_tensor(*at):
            return UP_TO_TENSOR
        if failure.by_default and proof.is_optional(*at):
            return "if this code runs while these options have their defaults"
        step = reached[at[0].id]
        at = None if step is None else (facts.contexts[step[0]], step[1])
    return None


def _operands(view: ContextView, failure: FailureFact, path: str) -> Iterator[RelatedPlace]:
    """The origins of the incompatible tensors, as far as they are in the function itself."""
    for operand in _inputs(view.made(failure.op)):
        alternatives = members(view.value(operand))
        if len(alternatives) != 1 or not isinstance(alternatives[0], TensorValue):
            continue
        made = view.behind_name(operand)
        if made != operand:
            message = f"`{view.written(operand)}` is {alternatives[0].type}"
            yield RelatedPlace(path, view.function.span_of(made), message)


def _inputs(fact: Fact | None) -> tuple[OpId, ...]:
    match fact:
        case Operation(sides=sides, right=int()):
            return sides
        case Call(arguments=arguments):
            return tuple(argument.value for argument in arguments)
        case ItemRead(owner=container):
            return (container,)
        case _:
            return ()
