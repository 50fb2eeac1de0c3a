"""A hazard that a context reaches, in its own code or by calls.

Computes: a callee's hazard as its caller's. Gives: `ReachedHazard`, `through`.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.classify.passed_arguments import Passed
from terra_refactor.domain.effect import EffectSite
from terra_refactor.facts.argument_flow import ArraySource
from terra_refactor.rules.rule import NO_SUBJECT, CureHint, Nature, Subject


@dataclass(frozen=True, slots=True)
class ReachedHazard:
    """A hazard that a context reaches."""

    rule: str
    site: EffectSite
    """Its place."""
    via: tuple[EffectSite, ...]
    """The calls that lead there, outermost first; empty if it is in the function's own code."""
    message: str
    assumption: str | None
    """It is a hazard only if this assumption is wrong."""
    cure: CureHint | None = None
    parameter: str | None = None
    """It is a hazard only if this parameter of the context's function is an argument of the graph."""
    boundary: bool = False
    """It is a hazard only for the function whose code contains it."""
    is_effect: bool = False
    """It comes from the analysis's effects, which are already composed over calls."""
    nature: Nature = Nature.FOUND
    subject: Subject = NO_SUBJECT
    waits: ArraySource | None = None
    """It is a hazard only for callers that pass an argument of the graph there: a captured variable, or a parameter with an object."""


def through(
    site: EffectSite, hazard: ReachedHazard, passed: Passed, chains: dict[int, tuple[EffectSite, ...]]
) -> ReachedHazard:
    """A callee's hazard as its caller's, whose call is at `site`. `chains` has the translated paths of the callee, by identity."""
    via = chains.get(id(hazard.via))
    if via is None:
        via = chains[id(hazard.via)] = (site, *hazard.via)
    return ReachedHazard(
        hazard.rule,
        hazard.site,
        via,
        hazard.message,
        hazard.assumption,
        hazard.cure,
        passed[0],
        hazard.boundary,
        hazard.is_effect,
        hazard.nature,
        hazard.subject,
        passed[1],
    )
