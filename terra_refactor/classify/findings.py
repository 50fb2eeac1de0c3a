"""Diagnostics of `lint`: hazards in code that already is a graph, invalid shapes, and decisions worth reporting.

Computes: findings with their positions. Needs: facts, hazards, decisions. Gives: `find`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId, EntryKind, ProgramFacts
from terra_refactor.classify.decision import Action, Classification, Decision, Level
from terra_refactor.classify.expected import Expected
from terra_refactor.classify.generation import tensorflow_1_modules
from terra_refactor.classify.graph_conditions import open_conditions
from terra_refactor.classify.graph_contexts import run_eagerly_all_the_same
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.proof import Proof
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.classify.recorded import advice, retraces, traces_in_words
from terra_refactor.classify.shape_findings import ENDS_BEFORE, definitely_reached, doubted, failures
from terra_refactor.classify.written_for import in_releases, written_for
from terra_refactor.domain.effect import EffectKind, EffectSite, RootKind
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import BoundMethod, FunctionValue, TensorValue, Value, members
from terra_refactor.facts.records import AttributeRead, Call
from terra_refactor.facts.view import is_tensorflow_tensor
from terra_refactor.ir.function import Decorator, Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.program import Program
from terra_refactor.rules.host_effects.stale_host_state import RULE as STALE_STATE
from terra_refactor.rules.no_benefit.missed_hybridization import RULE as MISSED_HYBRIDIZATION
from terra_refactor.rules.no_benefit.no_tensor_work import RULE as NO_TENSOR_WORK
from terra_refactor.rules.registry import all_rules, rules_by_retrace
from terra_refactor.rules.retracing.function_made_in_loop import RULE as MADE_IN_LOOP
from terra_refactor.rules.retracing.shape_retrace import RULE as SHAPE_RETRACE
from terra_refactor.rules.rule import (
    CureHint,
    Family,
    Finding,
    Nature,
    RelatedPlace,
    Rule,
    RuleKind,
    Severity,
    in_words,
)
from terra_refactor.rules.shapes.suspicious_broadcast import RULE as SUSPICIOUS_BROADCAST
from terra_refactor.syntax.location import Span
from terra_refactor.tf_model.graph_traits import TF_FUNCTION
from terra_refactor.tf_model.releases import OF_GRAPHS, Releases

_ANY_RELEASE: Final = (Releases(), "")
_OF_FIT: Final = frozenset({"train_step", "test_step", "predict_step", "call"})
"""Methods that Keras traces for `fit`, `evaluate` and `predict`."""
_EXPECTED: Final = "the surrounding code expects an exception"
_CHOSEN: Final = "if it is the function that is passed there, of several"
_WRAPPED: Final = "if the enclosing function makes a graph of this closure, which depends on a condition"


def find(hazards: HazardMap, decisions: tuple[Decision, ...]) -> tuple[Finding, ...]:
    """All diagnostics, sorted by position, without duplicates per position and rule."""
    program, facts = hazards.whole_program, hazards.whole_facts
    found: dict[tuple[str, str, Span], Finding] = {}
    told: set[FunctionId] = set()
    proof, expected = Proof(hazards), Expected(hazards)
    written = written_for(hazards)
    reached = definitely_reached(facts, expected)
    for each in (
        *_in_graphs(program, facts, hazards, proof, expected),
        *_diagnostics(program, facts, hazards, told, expected, reached),
        *failures(program, facts, hazards, proof, expected, reached),
        *_decided(program, decisions),
        *_retraced(program, facts, decisions, told),
    ):
        releases, why = written.get(each.path, _ANY_RELEASE)
        finding = in_releases(each, releases, why)
        if finding is None:
            continue
        known = found.setdefault((finding.rule, finding.path, finding.span), finding)
        if known.severity is not Severity.ERROR and finding.severity is Severity.ERROR:
            # proven on one path, if not on another
            found[finding.rule, finding.path, finding.span] = finding
    return tuple(
        sorted(found.values(), key=lambda finding: (finding.path, finding.span, finding.rule, finding.message))
    )


def find_shapes(hazards: HazardMap) -> tuple[Finding, ...]:
    """The findings of the shape rules only."""
    program, facts = hazards.whole_program, hazards.whole_facts
    shapes = {rule.id for rule in all_rules().values() if rule.family is Family.SHAPES}
    proof, expected, written = Proof(hazards), Expected(hazards), written_for(hazards)
    reached = definitely_reached(facts, expected)
    found = (
        *_diagnostics(program, facts, hazards, set(), expected, reached),
        *failures(program, facts, hazards, proof, expected, reached),
    )
    told = (in_releases(each, *written.get(each.path, _ANY_RELEASE)) for each in found if each.rule in shapes)
    return tuple(finding for finding in told if finding is not None)


def _in_graphs(
    program: Program, facts: ProgramFacts, hazards: HazardMap, proof: Proof, expected: Expected
) -> Iterator[Finding]:
    """Hazards reached by code that already is a graph."""
    entered, eager = _entered_from_outside(facts), run_eagerly_all_the_same(facts)
    chosen = _entered_by_choice(facts, hazards)
    for context in facts.contexts:
        if context.id in eager or (not hazards.is_hybrid(context.function) and context.id not in entered):
            continue
        wrapped = hazards.is_hybrid(context.function)
        if wrapped and context.id not in entered and _is_of_another_closure(program, context):
            continue
        is_wrapped_always = context.id in entered or not wrapped or _is_wrapped_always(hazards, context)
        # arguments from `Dataset.map` and similar methods are created for the function: changes to them are local
        given = {
            effect.site
            for effect in context.effects
            if not wrapped and effect.kind is EffectKind.STATE_WRITE and effect.target.root is RootKind.PARAMETER
        }
        if not wrapped and program.function(context.function).name == "call":
            # Keras calls it, and collects the losses that it adds in each trace
            given.update(effect.site for effect in context.effects if effect.target.path.endswith(".losses"))
        # code that AutoGraph leaves unconverted becomes no branch or loop of the graph
        as_it_is = {hazard.site for hazard in hazards.reached(context) if hazard.nature is Nature.UNCONVERTED}
        for hazard in hazards.in_graph(context):
            rule = all_rules()[hazard.rule]
            if hazard.site in given or not (wrapped or rule.inherited):
                continue
            if rule.compares_structures and hazard.site in as_it_is:
                continue
            if not wrapped and _is_set_by_compile(hazards, proof, context, hazard):
                continue
            # an error needs proof; a warning points out a risk, even if no caller is affected today
            if rule.severity is Severity.WARNING or (rule.severity is Severity.ERROR and hazard.assumption is None):
                doubt = proof.doubt(context, hazard) if rule.severity is Severity.ERROR else None
                if (
                    doubt is None
                    and rule.family is Family.GRAPH_FAILURES
                    and _is_expected(proof, expected, context, hazard)
                ):
                    doubt = _EXPECTED
                if doubt is None and rule.severity is Severity.ERROR:
                    if not is_wrapped_always:
                        doubt = _WRAPPED
                    elif not wrapped and context.id in chosen:
                        doubt = _CHOSEN
                    else:
                        doubt = _doubt_of_way(proof, expected, context, hazard)
                found = _finding(program, rule, hazard.site, hazard.message, _way(program, hazard), hazard.cure)
                yield found if doubt is None else doubted(found, doubt)


def _is_set_by_compile(hazards: HazardMap, proof: Proof, context: ContextFacts, hazard: ReachedHazard) -> bool:
    """Whether Keras traces the code, and only constructors and `compile` set the attributes that it reads.

    After `compile`, Keras rebuilds its graphs.
    """
    if hazard.rule != STALE_STATE.id or hazards.program.function(context.function).name not in _OF_FIT:
        return False
    read = hazards.index(FunctionId(hazard.site.module, hazard.site.function)).facts[hazard.site.op]
    setters = proof.values.setters_of(read.name) if isinstance(read, AttributeRead) else []
    return bool(setters) and all(
        hazards.index(setter).function.name in ("__init__", "build", "compile") for setter, _, _ in setters
    )


def _is_expected(proof: Proof, expected: Expected, context: ContextFacts, hazard: ReachedHazard) -> bool:
    """Whether the code around a hazard, or each call that leads to the graph, expects the exception: an example of a failure."""
    return expected.only_as_expected(context) or any(
        expected.is_expected(inner, number, in_graph=True) for inner, number in proof.steps_to(context, hazard)
    )


def _doubt_of_way(proof: Proof, expected: Expected, context: ContextFacts, hazard: ReachedHazard) -> str | None:
    """The doubt about the path to a hazard: the program may end before it reaches the graph, or the graph before the hazard."""
    ends = any(expected.is_behind_end(inner, number) for inner, number in proof.steps_to(context, hazard))
    first = next(iter((*hazard.via, hazard.site)))
    return ENDS_BEFORE if ends or expected.never_comes_to(context, OpId(first.op)) else None


def _is_of_another_closure(program: Program, context: ContextFacts) -> bool:
    """Whether the context may belong to a function object that is not a graph, although another one with the same code
    is.

    A decorator of the project returns a new object for each decorated function, and only some of these are passed to
    `tf.function`.
    """
    code = program.function(context.function)
    return context.entry is EntryKind.CALLED and bool(code.frees) and _written_decorator(code) is None


def _is_wrapped_always(hazards: HazardMap, context: ContextFacts) -> bool:
    """Whether each object of the function's code becomes a graph, if the function captures variables.

    A function that `tf.function(f)` wraps in some calls of the enclosing function only, or under a condition, reads
    variables of the other calls where it is no graph.
    """
    code = hazards.whole_program.function(context.function)
    if code.parent is None or not code.frees or _written_decorator(code) is not None:
        return True
    outer = [each for each in hazards.whole_facts.contexts if each.function == code.parent]
    wrapped = [
        call.op
        for call in hazards.index(code.parent).of_kind(Call)
        if any(TF_FUNCTION in hazards.view(each).library_of(call.op) for each in outer)
        and any(
            context.function in _functions(each.values[argument.value]) for each in outer for argument in call.arguments
        )
    ]
    if not wrapped:
        # a decorator of the project wraps each of its functions
        return bool(code.decorators) or len(outer) < 2
    return all(
        any(
            each.values[number] is not None and not any(True for _ in open_conditions(hazards.view(each), number))
            for number in wrapped
        )
        for each in outer
    )


def _entered_from_outside(facts: ProgramFacts) -> frozenset[ContextId]:
    """The contexts in which eager code enters a graph: traced functions, and functions passed to `Dataset.map`, `fit`
    and similar methods.

    Deeper functions are judged from there, because only there the owner of the changed objects is known.
    """
    return frozenset(
        callee
        for context in facts.contexts
        if not context.in_graph
        for call in context.calls
        for callee in call.callees
        if facts.contexts[callee].in_graph
    )


def _entered_by_choice(facts: ProgramFacts, hazards: HazardMap) -> frozenset[ContextId]:
    """The contexts that eager code enters as a graph only where it passes one of several functions to a library."""
    chosen, certain = set[ContextId](), set[ContextId]()
    for context in facts.contexts:
        for call in () if context.in_graph else context.calls:
            found = [callee for callee in call.callees if facts.contexts[callee].in_graph]
            if not found or not call.library:
                continue
            made = hazards.index(context.function).facts[call.op]
            given = [context.values[each.value] for each in made.arguments] if isinstance(made, Call) else []
            several = {function for value in given if len(functions := _functions(value)) > 1 for function in functions}
            for callee in found:
                (chosen if facts.contexts[callee].function in several else certain).add(callee)
    return frozenset(chosen - certain)


def _functions(value: Value | None) -> frozenset[FunctionId]:
    """The functions of the program among the alternatives of a value, including those of bound methods."""
    found = [
        member.function if isinstance(member, BoundMethod) else member
        for member in (() if value is None else members(value))
    ]
    return frozenset(FunctionId(*each.function) for each in found if isinstance(each, FunctionValue))


def _diagnostics(
    program: Program,
    facts: ProgramFacts,
    hazards: HazardMap,
    told: set[FunctionId],
    expected: Expected,
    reached: Container[ContextId],
) -> Iterator[Finding]:
    """Findings of rules that do not concern safety.

    Adds to `told` the functions for which a finding explains the traces of a run.
    """
    old = tensorflow_1_modules(facts)
    for context in facts.contexts:
        identity = context.function
        for rule, place in hazards.found(context):
            if rule.family is Family.SHAPES and context.id not in reached:
                continue
            if (
                identity.module in old
                and hazards.view(context).is_comparison(place.op)
                and rule is SUSPICIOUS_BROADCAST
            ):
                continue
            if rule.kind is RuleKind.DIAGNOSTIC and place.assumption is None:
                site = EffectSite(identity.module, identity.index, place.op)
                message = place.message
                for callee in hazards.view(context).traced_callees(place.op) if rule.family is Family.RETRACING else ():
                    seen = program.recorded.get(callee.function)
                    cause = next((each for each in retraces(seen) if rules_by_retrace()[each.cause] is rule), None)
                    if seen is not None and cause is not None:
                        message += f" ({traces_in_words(seen, cause)})"
                        told.add(callee.function)
                found = _finding(program, rule, site, message, (), place.cure)
                doubt = in_words(place.in_use)
                if doubt is None and expected.is_expected(context, place.op, in_graph=True):
                    doubt = _EXPECTED
                if doubt is None and rule.severity is Severity.ERROR and expected.never_comes_to(context, place.op):
                    doubt = ENDS_BEFORE
                yield found if doubt is None or rule.severity is not Severity.ERROR else doubted(found, doubt)


def _retraced(
    program: Program, facts: ProgramFacts, decisions: tuple[Decision, ...], told: set[FunctionId]
) -> Iterator[Finding]:
    """Functions that a recorded run traced repeatedly, if the source does not show the reason."""
    for decision in decisions:
        seen = program.recorded.get(decision.function)
        causes = retraces(seen) if decision.hybrid else ()
        if seen is None or decision.function in told:
            continue
        for cause in causes:
            rule = rules_by_retrace()[cause.cause]
            if rule is SHAPE_RETRACE and decision.action is Action.TUNE_TF_FUNCTION:
                continue
            if rule is MADE_IN_LOOP and decision.kind is FunctionKind.METHOD:
                continue  # each object has its own graphs, as intended
            if cause.cause == "value" and _gets_tensors(facts, decision.function, cause.parameter):
                continue  # the calls have changed since the run
            message = f"{decision.qualname} was {traces_in_words(seen, cause)}; {advice([cause])}"
            yield replace(_about(decision, rule, _place_of(program, decision), message), fixable=False)


def _gets_tensors(facts: ProgramFacts, function: FunctionId, name: str | None) -> bool:
    """Whether all calls are known, and pass a tensor for a parameter."""
    found = facts.functions.get(function)
    if found is None or found.open_callers or not found.callers:
        return False
    values = [
        member
        for parameter in found.parameters
        if parameter.name == name and parameter.evidence is Evidence.DATAFLOW and not parameter.supposed
        for value in parameter.values
        for member in members(value)
    ]
    return bool(values) and all(isinstance(each, TensorValue) and is_tensorflow_tensor(each) for each in values)


def _decided(program: Program, decisions: tuple[Decision, ...]) -> Iterator[Finding]:
    """Decisions as findings: a function that should be a graph, and one that should not."""
    for decision in decisions:
        place = _place_of(program, decision)
        if decision.action is Action.ADD_TF_FUNCTION and decision.level is Level.SAFE:
            message = f"{decision.qualname} is safe as a graph and would be faster: {decision.reason}"
            yield _about(decision, MISSED_HYBRIDIZATION, place, message)
        elif (
            decision.action is Action.REMOVE_TF_FUNCTION
            and decision.classification is Classification.SAFE
            # if callers will become graphs, the finding is that they are not graphs yet
            and not decision.covered_at_speculative
        ):
            yield _about(decision, _rule_of(decision, NO_TENSOR_WORK), place, decision.reason)
        elif decision.action is Action.TUNE_TF_FUNCTION:
            yield _about(decision, _rule_of(decision, SHAPE_RETRACE), place, decision.reason)


def _rule_of(decision: Decision, usual: Rule) -> Rule:
    """The rule named in the reason of a decision."""
    return all_rules()[decision.rule] if decision.rule else usual


def _about(decision: Decision, rule: Rule, place: Span, message: str) -> Finding:
    return Finding(
        rule.id,
        rule.name,
        rule.severity,
        decision.path,
        place,
        message.removesuffix(f" ({rule.id})"),
        fixable=True,
        function=decision.qualname,
    )


def _place_of(program: Program, decision: Decision) -> Span:
    """The position of the decorator that makes a function a graph, if there is one in the source; otherwise that of its `def`."""
    if decision.hybrid:
        written = _written_decorator(program.function(decision.function))
        if written is not None:
            return written.span
    return Span(decision.line, 1, decision.line, 1)


def _written_decorator(code: Function) -> Decorator | None:
    """The decorator at the definition that makes a function a graph, if there is one."""
    for decorator in code.decorators:
        head, _, arguments = decorator.text.partition("(")
        if head.split(".")[-1] == "function" or "tf.function" in arguments:
            return decorator
    return None


def _finding(
    program: Program,
    rule: Rule,
    site: EffectSite,
    message: str,
    related: tuple[RelatedPlace, ...],
    cure: CureHint | None = None,
) -> Finding:
    module = program.modules[site.module]
    code = module.by_index[site.function]
    function = "" if code.kind is FunctionKind.MODULE else code.qualname
    return Finding(
        rule.id,
        rule.name,
        rule.severity,
        module.path,
        code.span_of(site.op),
        message,
        fixable=cure is not None,
        related=related,
        cure=cure,
        function=function,
        release=None if rule.family is Family.SHAPES else rule.since or OF_GRAPHS,
    )


def _way(program: Program, hazard: ReachedHazard) -> tuple[RelatedPlace, ...]:
    """The calls that lead to a hazard, the nearest first."""
    places: list[RelatedPlace] = []
    for site in reversed(hazard.via):
        module = program.modules[site.module]
        code = module.by_index[site.function]
        places.append(RelatedPlace(module.path, code.span_of(site.op), f"called from {code.qualname}"))
    return tuple(places)
