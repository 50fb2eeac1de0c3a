"""Code lens: a line above each function with a proposed change, or with numbers of a recorded run; on request above
every function with tensor work.

Computes: lenses of a file, one for each function. Needs: a snapshot, and the known regions. Gives: `code_lenses`,
`in_peace`, `Lens`. Ignores: setup functions, functions that create models and layers, and tests, which need no graph. Hover and
menu cover all functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.classify.decision import Action, Classification, Decision, Level
from terra_refactor.classify.region import RegionDecision
from terra_refactor.ide.explanations import (
    assumptions_in_words,
    change_title,
    extraction_title,
    hazards_in_words,
    recorded_text,
)
from terra_refactor.ide.regions import MODULE, beside_regions, shown_regions
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.unparsed import last_parsed
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.graph_failures.non_tensor_return import RULE as NON_TENSOR_RETURN
from terra_refactor.rules.misuse.variable_created_in_graph import RULE as VARIABLE_CREATED
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span

_MAKING = frozenset({NON_TENSOR_RETURN.id, VARIABLE_CREATED.id})
"""Rules about functions that create variables, layers or models in each call: factories."""
LEAST_SHOWN: Final = 0.1
"""Minimum seconds that a change saves in a run for this to be shown."""
_SET_UP = frozenset({"__init__", "__new__", "__post_init__", "build", "__init_subclass__"})


@dataclass(frozen=True, slots=True)
class Lens:
    """One line above a function, or above a region of a module.

    `applies`: whether a click changes the code; otherwise it explains.
    """

    span: Span
    title: str
    qualname: str
    applies: bool


@deeply
def code_lenses(snapshot: Snapshot, path: str, *, every: bool = False, co_execution: bool = True) -> tuple[Lens, ...]:
    """The lenses of a file, in source order. `every`: also for functions with neither a proposed change nor a record. Without
    `co_execution` the program cannot import the shim, so it is not proposed. Nothing is proposed for a function as
    long as regions that may replace the proposal are not known (`shown_regions`).
    """
    parsed = last_parsed(snapshot, path)
    if parsed is not None:
        old = code_lenses(parsed.snapshot, path, every=every, co_execution=co_execution)
        return tuple(replace(lens, span=span) for lens in old if (span := parsed.span(lens.span)) is not None)
    regions = shown_regions(snapshot, path)
    found: list[Lens] = []
    for decision in beside_regions(snapshot.decisions.get(path, ()), regions):
        region = regions.best_in(decision, co_execution=co_execution)
        if decision.kind is FunctionKind.LAMBDA or in_peace(decision, region):
            continue
        recorded = recorded_text(snapshot.program.recorded.get(decision.function))
        is_relevant = decision.hybrid or decision.tensor_computation
        applies = decision.action is not Action.NONE and (co_execution or decision.action is not Action.CO_EXECUTE)
        if region is not None:
            title = _extraction(region)
        elif applies:
            title = _change(decision)
        elif every and is_relevant and decision.qualname not in regions.undecided:
            title = _state(decision)
        elif recorded and is_relevant:
            title = ""
        else:
            continue
        gain = decision.expected_gain
        if region is None and applies and gain is not None and gain.seconds_saved >= LEAST_SHOWN:
            title = f"{title} · saves about {gain.seconds_saved:.1f} s"
        title = " · ".join(filter(None, (title, recorded)))
        found.append(Lens(_line(decision.line), title, decision.qualname, applies or region is not None))
    in_module = (
        each
        for each in regions.decisions
        if each.inside == MODULE and (each.extract or (co_execution and each.co_execute))
    )
    found.extend(Lens(_line(region.line), _extraction(region), MODULE, True) for region in in_module)
    return tuple(sorted(found, key=lambda lens: lens.span.line))


def _line(number: int) -> Span:
    return Span(number, 1, number, 1)


def _extraction(region: RegionDecision) -> str:
    """The action of a click on the lens of a region, and its dependencies."""
    title = extraction_title(region)
    if region.level is Level.SAFE or region.co_execute:
        return title
    count = len(region.assumptions)
    if count:
        return f"{title} · if {assumptions_in_words(region)} hold{'s' if count == 1 else ''}"
    return f"{title} · if it pays"


def in_peace(decision: Decision, region: RegionDecision | None = None) -> bool:
    """Whether a graph is of no interest: setup code, tests, model factories. An existing decorator always counts.

    A function with a `region` that should become a function is no factory: it trains the model that it creates.
    """
    if decision.hybrid:
        return False
    name = decision.qualname.rpartition(".")[2]
    file = decision.path.rpartition("/")[2]
    is_test = name.startswith("test") or file.startswith("test_") or file.endswith("_test.py")
    makes = (
        region is None
        and decision.action is not Action.ADD_TF_FUNCTION
        and any(hazard.rule in _MAKING and not hazard.assumed for hazard in decision.hazards)
    )
    return is_test or makes or name in _SET_UP


def _change(decision: Decision) -> str:
    """The action of a click, and its dependencies."""
    title = change_title(decision)
    if decision.action is Action.CO_EXECUTE:
        hazards = hazards_in_words(decision)
        return f"{title} · no graph: {hazards}" if hazards else title
    if decision.level is not Level.SAFE and decision.assumptions:
        count = len(decision.assumptions)
        return f"{title} · if {assumptions_in_words(decision)} hold{'s' if count == 1 else ''}"
    if decision.level is not Level.SAFE and decision.action is Action.ADD_TF_FUNCTION:
        return f"{title} · if it pays"
    return title


def _state(decision: Decision) -> str:
    """The reason why there is no change."""
    match decision.classification:
        case Classification.UNSAFE:
            hazards = hazards_in_words(decision)
            return f"stays eager: {hazards}" if hazards else "stays eager"
        case _ if decision.hybrid:
            return "graph"
        case _ if decision.covered_by_graph_callers:
            return "part of its callers' graph"
        case Classification.SPECULATIVE:
            return f"could be a graph if {assumptions_in_words(decision)} held"
        case _:
            return "could be a graph, but would not be faster"
