"""Decisions for the functions of a source text, created without the analysis: the test specifies the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from terra_refactor.classify.decision import Action, Classification, Decision, HybridArguments, Level
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.refactor.locate import DefinitionSite, locate_definitions
from terra_refactor.refactor.text import ModuleText
from terra_refactor.syntax.source import Source

LEVELS = {
    Action.ADD_TF_FUNCTION: Level.SAFE,
    Action.REMOVE_TF_FUNCTION: Level.SAFE,
    Action.TUNE_TF_FUNCTION: Level.SAFE,
    Action.CO_EXECUTE: Level.COEXEC,
    Action.NONE: Level.SAFE,
}


def decide_for(
    source: Source, actions: Mapping[str, tuple[Action, Sequence[tuple[str, str]]]], *, level: Level | None = None
) -> list[Decision]:
    """One decision for every `def`; `*` in `actions` stands for those not named."""
    decisions = []
    for number, site in enumerate(locate_definitions(ModuleText(source)).values(), 1):
        action, arguments = actions.get(site.qualname) or actions.get("*") or (Action.NONE, ())
        decisions.append(decision_at(source, site, number, action, tuple(arguments), level))
    return decisions


def decision_at(
    source: Source,
    site: DefinitionSite,
    number: int,
    action: Action,
    arguments: tuple[tuple[str, str], ...] = (),
    level: Level | None = None,
) -> Decision:
    """A decision about one definition."""
    return Decision(
        function=FunctionId("module", number),
        path=source.path,
        module="module",
        qualname=site.qualname,
        line=site.line,
        end_line=site.line + 1,
        kind=FunctionKind.FUNCTION,
        hybrid=any("function" in repr(decorator.node.decorator) for decorator in site.decorators),
        hybrid_arguments=(),
        classification=Classification.SAFE,
        action=action,
        level=level or LEVELS[action],
        reason="the test says so",
        assumptions=(),
        parameters=(),
        returns=(),
        side_effects=(),
        recursive=False,
        tensor_computation=True,
        covered_by_graph_callers=False,
        input_signature=None,
        proposal=HybridArguments(arguments),
        hazards=(),
    )
