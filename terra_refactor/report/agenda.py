"""The first part of a report: the proposed changes by expected gain, then hot code that a hazard keeps from being a graph.

Needs: the results of a run. Gives: `Agenda`, `agenda_of`, for the text, HTML and Markdown reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from terra_refactor.classify.decision import Action, Classification, Decision, ExpectedGain, Hazard, Level
from terra_refactor.classify.region import RegionDecision
from terra_refactor.classify.way_to_hazard import way_to_hazard
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.rule import RelatedPlace
from terra_refactor.workspace.found_region import FoundRegion
from terra_refactor.workspace.results import WorkspaceReport

HELD_BACK_SHOWN = 10
"""Maximum number of functions kept eager by a hazard that text and Markdown list."""


@dataclass(frozen=True, slots=True)
class AgendaItem:
    """A function, or statements that could become one."""

    path: str
    line: int
    name: str
    """Qualified name; for statements that of the enclosing function."""
    action: Action
    classification: Classification
    level: Level
    reason: str
    rule: str
    """Id of the rule in the reason; empty if there is none."""
    gain: ExpectedGain | None
    operations: int
    """Estimated tensor operations of one call; 0 for statements."""
    cause: tuple[RelatedPlace, ...] = ()
    """The code that the reason is about, then the calls that lead to it, the nearest first; empty if it is about none."""


@dataclass(frozen=True, slots=True)
class Agenda:
    """The first parts of a report, and the number of functions in neither."""

    changes: tuple[AgendaItem, ...]
    """The largest known gain first, then by the level that the change needs."""
    held_back: tuple[AgendaItem, ...]
    """Functions with enough tensor operations for a graph, and inline training steps, that have a hazard.

    Most operations first.
    """
    in_graphs: int
    """Functions that are graphs, or part of one."""
    without_tensors: int
    """Functions without tensor computation."""
    others: int


def agenda_of(report: WorkspaceReport) -> Agenda:
    """The leading entries of a report."""
    by_function = {each.function: each for each in report.decisions}
    changes = [_of_function(each, by_function) for each in report.decisions if each.action is not Action.NONE]
    changes += [_of_region(each.decision) for each in report.regions if each.decision.changes]
    rest = [each for each in report.decisions if each.action is Action.NONE]
    held_back = [_of_function(each, by_function) for each in rest if each.held_back]
    held_back += _blocked(report.regions)
    levels = {level: number for number, level in enumerate(Level)}
    changes.sort(key=lambda item: (-saved(item.gain), levels[item.level], -item.operations, item.path, item.line))
    held_back.sort(key=lambda item: (-item.operations, item.path, item.line))
    others = [each for each in rest if not each.held_back]
    in_graphs = sum(_is_in_graph(each) for each in others)
    without_tensors = sum(not each.tensor_computation and not _is_in_graph(each) for each in others)
    return Agenda(
        tuple(changes), tuple(held_back), in_graphs, without_tensors, len(others) - in_graphs - without_tensors
    )


def saved(gain: ExpectedGain | None) -> float:
    """Seconds that a change saves; 0 if unknown."""
    return 0.0 if gain is None else max(gain.seconds_saved, 0.0)


def gain_words(item: AgendaItem) -> str:
    """The expected gain of a change in words; empty if unknown."""
    if item.gain is None or saved(item.gain) <= 0:
        return ""
    where = "the recorded runs" if item.gain.source == "record" else "a run"
    calls = "1 call" if item.gain.calls == 1 else f"{item.gain.calls} calls"
    return f"saves about {item.gain.seconds_saved:.1f} s in {where} ({calls})"


def _is_in_graph(decision: Decision) -> bool:
    return decision.hybrid or decision.covered_by_graph_callers


def _of_function(decision: Decision, by_function: Mapping[FunctionId, Decision]) -> AgendaItem:
    return AgendaItem(
        decision.path,
        decision.line,
        decision.qualname,
        decision.action,
        decision.classification,
        decision.level,
        decision.reason,
        decision.rule,
        decision.expected_gain,
        decision.operations,
        _cause(decision, by_function),
    )


def _cause(decision: Decision, by_function: Mapping[FunctionId, Decision]) -> tuple[RelatedPlace, ...]:
    """The positions of the hazard in the reason; empty if a call on the path is in code without a decision."""
    reason = next((each for each in decision.hazards if each.is_reason), None)
    way = () if reason is None else way_to_hazard(by_function, decision, reason)
    if not way or way[-1][1].via:
        return ()
    return tuple(
        RelatedPlace(each.path, hazard.span, f"{'called from' if hazard.via else 'in'} {each.qualname}")
        for each, hazard in reversed(way)
    )


def _of_region(decision: RegionDecision) -> AgendaItem:
    return AgendaItem(
        decision.path,
        decision.line,
        decision.inside,
        decision.action,
        decision.classification,
        decision.level,
        f"{decision.function_name}(): {decision.reason}" if decision.changes else decision.reason,
        _first_rule(decision.hazards),
        None,
        0,
    )


def _first_rule(hazards: Iterable[Hazard]) -> str:
    return next((hazard.rule for hazard in hazards if not hazard.assumed), "")


def _blocked(regions: Iterable[FoundRegion]) -> list[AgendaItem]:
    """Inline training steps that are not extracted because of a hazard."""
    return [
        _of_region(decision)
        for decision in (each.decision for each in regions)
        if not decision.changes and decision.classification is Classification.UNSAFE and _first_rule(decision.hazards)
    ]
