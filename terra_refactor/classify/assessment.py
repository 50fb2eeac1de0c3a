"""Assessment of one function, before all functions are decided together.

Computes: hazards, assumptions and classification of a function, its operation count, whether a decorator is possible and with which
arguments, and the contents of its report entry. Needs: hazards and facts. Gives: `Assessment`, `assess`, `obstacle_of`,
`proposal_of`, `Portrait`, `portray`. All of it is kept between the states of a program if it is valid.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, EntryKind, FunctionFacts
from terra_refactor.classify.answers import Question
from terra_refactor.classify.assumptions import Assumption, Assumptions, gather_assumptions
from terra_refactor.classify.benefit import NOTHING, UNKNOWN_ITERATIONS, Count, largest, operations
from terra_refactor.classify.candidates import Obstacle, is_test_code, why_not_a_candidate
from terra_refactor.classify.decision import Classification, ParameterDecision, ParameterValueKind
from terra_refactor.classify.fresh_arguments import Fresh, Freshness, FreshParameter, brought_by_callers
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.parameters import describe_parameters, reported_types
from terra_refactor.classify.reach import abstract_methods, uses_static_sizes
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.classify.recorded import recorded_types, shape_traces, traces_in_words
from terra_refactor.classify.samples import samples_of
from terra_refactor.classify.signature import ProposedArguments, proposal_for, signature_text, sizes_to_retrace
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind
from terra_refactor.domain.evidence import STRENGTH, Evidence
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import BOTTOM
from terra_refactor.facts.records import Imported
from terra_refactor.ir.function import ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.record.record_file import FunctionSeen
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import INTERNAL
from terra_refactor.syntax.deep_stack import has_deep_stack
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import LAYER

LOGGER = logging.getLogger(__name__)

_REPORTED_EFFECTS: Final = frozenset(
    {
        EffectKind.PRINT,
        EffectKind.LOG,
        EffectKind.INPUT_OUTPUT,
        EffectKind.RANDOM,
        EffectKind.TIME,
        EffectKind.ITERATE,
        EffectKind.STATE_WRITE,
    }
)
"""The effects that the report lists as Python side effects."""
_LONG_BODY: Final = 10
"""Size of a loop's body, in operations, above which a few hundred iterations take seconds to trace."""
_REST: Final = (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a function is safe to trace, and its operation count."""

    hazards: tuple[ReachedHazard, ...]
    assumptions: Assumptions
    classification: Classification
    count: Count
    """Operations of one call."""
    parameters: tuple[ParameterDecision, ...]
    """The decisions about the parameters; the samples of their values are omitted."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """The parts of a function's report entry that do not depend on its action or position."""

    parameters: tuple[ParameterDecision, ...]
    """With samples."""
    returns: tuple[TensorType, ...]
    effects: tuple[Effect, ...]
    """Its Python side effects, each by the shortest path."""
    callees: tuple[FunctionId, ...]
    input_signature: str | None


def assess(hazards: HazardMap, identity: FunctionId) -> Assessment:
    """The assessment of a function."""
    assessment = hazards.ask(_ASSESSMENT, identity)
    assert assessment is not None
    return assessment


def obstacle_of(hazards: HazardMap, identity: FunctionId) -> Obstacle | None:
    """The reason why a `tf.function` on the definition makes no sense, whatever the body does; None if there is none."""
    return hazards.ask(_STRUCTURAL, identity)


def is_part_of_test(hazards: HazardMap, identity: FunctionId) -> bool:
    """Whether it is in a file of tests or in a test case."""
    return hazards.ask(_TEST, identity)


def proposal_of(hazards: HazardMap, identity: FunctionId) -> ProposedArguments | None:
    """The arguments to add to its decorator; None if the present ones are correct."""
    return hazards.ask(_PROPOSAL, identity)


def portray(hazards: HazardMap, identity: FunctionId) -> Portrait:
    """The part of an assessment that a report shows."""
    portrait = hazards.ask(_PORTRAIT, identity)
    assert portrait is not None
    return portrait


def takes_tensors(parameters: tuple[ParameterDecision, ...]) -> bool:
    """Whether it is known that a tensor, or a container of tensors, is passed."""
    tensors = (ParameterValueKind.TENSOR, ParameterValueKind.VARIABLE)
    return any(parameter.kind in tensors or parameter.types for parameter in parameters)


def _assess(hazards: HazardMap, identity: FunctionId) -> Assessment:
    """The assessment of a function; an internal error affects only this function."""
    try:
        return _assessed(hazards, identity)
    except Exception as error:
        if isinstance(error, RecursionError) and not has_deep_stack():
            raise  # it is repeated on a larger stack
        LOGGER.exception("the assessment of %s failed", identity)
        why = f"{INTERNAL}the assessment failed ({type(error).__name__}: {error})"
        return Assessment((), Assumptions((), why), Classification.UNSAFE, NOTHING, ())


def _assessed(hazards: HazardMap, identity: FunctionId) -> Assessment:
    facts, code = hazards.facts, hazards.program.function(identity)
    found = facts.functions[identity]
    contexts = facts.contexts_of(identity)
    parameters = describe_parameters(facts, code, found)
    merged: dict[tuple[str, EffectSite], ReachedHazard] = {}
    for context in contexts:
        for hazard in hazards.in_graph(context):
            known = merged.get((hazard.rule, hazard.site))
            if known is None or (known.assumption is not None and hazard.assumption is None):
                merged[hazard.rule, hazard.site] = hazard
    count = largest(operations(hazards, context) for context in contexts)
    reached = tuple(merged.values())
    if not count and found.hybrid is None and not takes_tensors(parameters):
        # plain Python: in a graph it runs during tracing, and its callers receive the same Python value
        reached = tuple(
            hazard for hazard in reached if not (hazard.boundary and all_rules()[hazard.rule].needs_tensors)
        )
    assumptions = gather_assumptions(
        hazards.codes, facts, code, found, parameters, reached, partial(hazards.ask, _FRESH)
    )
    extra = dict.fromkeys(
        f"overrides of `{name}` in subclasses have no side effects"
        for context in contexts
        for name in abstract_methods(hazards, context)
    )
    if count and not hazards.ask(_IMPORTS_TENSORFLOW, identity.module):
        extra["Keras uses the TensorFlow backend: the module does not import TensorFlow itself"] = None
    if not count.differentiated:
        extra.update(dict.fromkeys(_may_build_models(hazards, found, contexts)))
    shaped = sizes_to_retrace(found, parameters, relax=_may_relax(hazards, contexts))
    if shaped is not None:
        extra[f"`{shaped}` has the same shape in most calls: each new one is traced"] = None
    if count.open_loops and count.open_traced >= _LONG_BODY * UNKNOWN_ITERATIONS**count.open_loops:
        extra[
            "the Python loops that count to an unknown number are short: a graph has a copy of the body for each iteration"
        ] = None
    unknowable = assumptions.unknowable
    if unknowable is None and count and found.returns == BOTTOM:
        # unreached code is unknown; that called code never returns is more likely an error of the analysis
        unknowable = "no call of it returns, as far as the analysis can tell"
    more = (Assumption(sentence, sentence) for sentence in extra if sentence not in assumptions.sentences)
    assumptions = Assumptions((*assumptions.found, *more), unknowable)
    certain = [hazard for hazard in reached if hazard.assumption is None]
    if certain or assumptions.unknowable is not None:
        classification = Classification.UNSAFE
    elif assumptions.found:
        classification = Classification.SPECULATIVE
    else:
        classification = Classification.SAFE
    return Assessment(reached, assumptions, classification, count, parameters)


def _may_build_models(hazards: HazardMap, found: FunctionFacts, contexts: tuple[ContextFacts, ...]) -> Iterator[str]:
    """Assumptions about arguments of a function without callers that runs layers on them: such functions build models."""
    if not any(context.entry in (EntryKind.UNCALLED, EntryKind.FRAMEWORK) for context in contexts):
        return
    open_ones = {
        each.name for each in found.parameters if each.evidence not in (Evidence.DATAFLOW, Evidence.ANNOTATION)
    }
    for context in contexts:
        view = hazards.view(context)
        for call, name in view.library_calls():
            given = view.parameter_behind(call.arguments[0].value) if call.arguments else None
            if given in open_ones and registry.is_library_subclass(name.removesuffix(".__call__"), LAYER):
                yield f"`{given}` is not a symbolic Keras tensor, as in building a functional model"


def _imports_tensorflow(hazards: HazardMap, module: str) -> bool:
    """Whether the module names TensorFlow in an import."""
    return any(
        name.partition(".")[0] == "tensorflow"
        for function in hazards.program.modules[module].functions
        for name in hazards.ask(_IMPORTED, function.id)
    )


def _imported(hazards: HazardMap, identity: FunctionId) -> tuple[str, ...]:
    return tuple(imported.module for imported in hazards.codes.of(identity).of_kind(Imported))


def _structural(hazards: HazardMap, identity: FunctionId) -> Obstacle | None:
    code, found = hazards.program.function(identity), hazards.facts.functions[identity]
    parameters = assess(hazards, identity).parameters
    return why_not_a_candidate(
        hazards.codes,
        hazards.facts,
        code,
        found,
        parameters,
        partial(hazards.ask, _FRESH),
    )


def _brought(hazards: HazardMap, about: FreshParameter) -> Fresh:
    return brought_by_callers(hazards.codes, hazards.facts, about, partial(hazards.ask, _FRESH))


def _proposal(hazards: HazardMap, identity: FunctionId) -> ProposedArguments | None:
    found = hazards.facts.functions[identity]
    relax = _may_relax(hazards, hazards.facts.contexts_of(identity))
    seen = hazards.program.recorded.get(identity)
    cause = shape_traces(seen)
    recorded = None
    if seen is not None and cause is not None:
        recorded = cause.parameter, traces_in_words(seen, cause)
    parameters = assess(hazards, identity).parameters
    return proposal_for(found, parameters, dict(found.hybrid or ()), relax=relax, recorded=recorded)


def _may_relax(hazards: HazardMap, contexts: tuple[ContextFacts, ...]) -> bool:
    """Whether axes may be relaxed to None: not if their sizes are used as Python values."""
    return not any(uses_static_sizes(hazards, context) for context in contexts)


def _portray(hazards: HazardMap, identity: FunctionId) -> Portrait:
    facts, code = hazards.facts, hazards.program.function(identity)
    found = facts.functions[identity]
    contexts = facts.contexts_of(identity)
    described = _with_record(hazards.program.recorded.get(identity), assess(hazards, identity).parameters)
    callees = {
        facts.contexts[callee].function for context in contexts for call in context.calls for callee in call.callees
    }
    return Portrait(
        parameters=tuple(
            replace(
                decided,
                form=written.kind,
                required=not written.has_default and written.kind not in _REST,
                samples=samples_of(hazards, parameter.values),
            )
            for decided, written, parameter in zip(described, code.parameters, found.parameters, strict=bool(described))
        ),
        returns=reported_types([found.returns], open_callers=found.open_callers) if found.returns != BOTTOM else (),
        effects=tuple(_effects(effect for context in contexts for effect in context.effects)),
        callees=tuple(sorted(callees, key=lambda each: (each.module, hazards.program.function(each).span))),
        input_signature=signature_text(code, found, described) if described or not code.parameters else None,
    )


def _with_record(seen: FunctionSeen | None, parameters: tuple[ParameterDecision, ...]) -> tuple[ParameterDecision, ...]:
    """The parameters for a report: if it is only known to be a tensor, with the types recorded in a run."""
    if seen is None:
        return parameters
    result = []
    for parameter in parameters:
        weaker = STRENGTH[parameter.evidence] <= STRENGTH[Evidence.RECORDED]
        if weaker and parameter.types and all(type_ == TensorType() for type_ in parameter.types):
            types = recorded_types(seen, parameter.name)
            if types:
                parameter = replace(parameter, evidence=Evidence.RECORDED, types=types)  # noqa: PLW2901
        result.append(parameter)
    return tuple(result)


def _effects(effects: Iterator[Effect]) -> Iterator[Effect]:
    found: dict[tuple[EffectKind, EffectSite], Effect] = {}
    for effect in effects:
        if effect.kind in _REPORTED_EFFECTS and effect.target.root is not RootKind.FRESH:
            known = found.get((effect.kind, effect.site))
            if known is None or len(effect.via) < len(known.via):
                found[effect.kind, effect.site] = effect
    return iter(found.values())


_FRESH: Final = Question[HazardMap, FreshParameter, Fresh](_brought, Fresh(Freshness.NEVER))
_ASSESSMENT: Final = Question[HazardMap, FunctionId, Assessment | None](_assess, None)
_STRUCTURAL: Final = Question[HazardMap, FunctionId, Obstacle | None](_structural, None)
_TEST: Final = Question[HazardMap, FunctionId, bool](
    lambda hazards, identity: is_test_code(hazards.codes, hazards.facts, hazards.program.function(identity)),
    meanwhile=False,
)
_PROPOSAL: Final = Question[HazardMap, FunctionId, ProposedArguments | None](_proposal, None)
_PORTRAIT: Final = Question[HazardMap, FunctionId, Portrait | None](_portray, None)
_IMPORTED: Final = Question[HazardMap, FunctionId, tuple[str, ...]](_imported, ())
_IMPORTS_TENSORFLOW: Final = Question(_imports_tensorflow, meanwhile=False)
