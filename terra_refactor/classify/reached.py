"""Hazards and side effects in a decision's form: with the position in the function's own code and the functions on the
path.

Computes: positions and names for sites. Needs: the program. Gives: `hazards_of`, `side_effects_of`, `way_to`,
`span_of`; all sorted.
"""

from __future__ import annotations

from collections.abc import Iterable

from terra_refactor.classify.decision import Hazard, SideEffect
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.domain.effect import Effect, EffectSite, RootKind
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Nature
from terra_refactor.syntax.location import Span


def hazards_of(
    program: Program, hazards: Iterable[ReachedHazard], cause: ReachedHazard | None = None
) -> tuple[Hazard, ...]:
    """The hazards that a function reaches; the decision's reason is about `cause`."""
    found = (_hazard(program, each, is_reason=each is cause) for each in hazards)
    return tuple(sorted(found, key=lambda h: (h.span, h.rule, h.message)))


def _hazard(program: Program, hazard: ReachedHazard, *, is_reason: bool) -> Hazard:
    first = hazard.via[0] if hazard.via else hazard.site
    cure = None if hazard.via else hazard.cure
    assumed = hazard.assumption is not None
    way = way_to(program, hazard)
    possible = hazard.nature is Nature.POSSIBLE
    return Hazard(
        hazard.rule, span_of(program, first), hazard.message, way, assumed, cure, hazard.subject, is_reason, possible
    )


def way_to(program: Program, reached: ReachedHazard | Effect) -> tuple[str, ...]:
    """The functions that lead to a hazard or effect, outermost first."""
    return names_of(program, (*reached.via[1:], reached.site) if reached.via else ())


def names_of(program: Program, sites: Iterable[EffectSite]) -> tuple[str, ...]:
    """The functions that contain these sites."""
    return tuple(program.modules[site.module].by_index[site.function].qualname for site in sites)


def span_of(program: Program, site: EffectSite) -> Span:
    """The source range of a site."""
    return program.modules[site.module].by_index[site.function].span_of(site.op)


def side_effects_of(program: Program, effects: Iterable[Effect]) -> tuple[SideEffect, ...]:
    """The side effects of a function."""
    found = [
        SideEffect(
            effect.kind.value,
            span_of(program, effect.site),
            program.modules[effect.site.module].path,
            effect.detail if effect.target.root is RootKind.EXTERNAL else f"{effect.detail} on {effect.target}",
            way_to(program, effect),
        )
        for effect in effects
    ]
    return tuple(sorted(found, key=lambda effect: (effect.path, effect.span, effect.kind, effect.detail)))
