"""Positions of causes: the calls from a function to the code that keeps it from being a graph, and writes of state that
a trace freezes (TR106).

Computes: positions. Needs: a snapshot, and a finding or a hazard. Gives: `writing_places`, `places_to`. Ignores:
constructors, which write before anything is traced, and writes of a module body to its own containers, which are not
effects.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.classify.decision import Decision, Hazard
from terra_refactor.classify.way_to_hazard import way_to_hazard
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.rules.host_effects.stale_host_state import RULE as STALE_STATE
from terra_refactor.rules.rule import Finding, RelatedPlace
from terra_refactor.syntax.location import Span

_MOST = 8
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


def writing_places(snapshot: Snapshot, finding: Finding) -> tuple[RelatedPlace, ...]:
    """The positions that change the state reported by a finding of TR106, by path and line."""
    if finding.rule != STALE_STATE.id:
        return ()
    read = {
        _identity(effect)
        for effect in _effects(snapshot, EffectKind.STATE_READ)
        if _span_and_path(snapshot, effect.site) == (finding.span, finding.path)
    }
    places: dict[RelatedPlace, None] = {}
    for effect in _effects(snapshot, EffectKind.STATE_WRITE):
        if _identity(effect) in read:
            function = snapshot.program.modules[effect.site.module].by_index[effect.site.function]
            if function.name not in _CONSTRUCTORS:
                span, path = _span_and_path(snapshot, effect.site)
                places[RelatedPlace(path, span, f"`{effect.target}` is changed here, in {function.qualname}")] = None
    return tuple(sorted(places, key=lambda place: (place.path, place.span)))[:_MOST]


def places_to(snapshot: Snapshot, decision: Decision, hazard: Hazard) -> tuple[RelatedPlace, ...]:
    """The positions from a decided function to the code that is the hazard: each call, outermost first, then the code
    itself.

    The list is shorter if there is no decision about a function on the path (a module's body, a lambda).
    """
    decisions = {other.function: other for each in snapshot.decisions.values() for other in each}
    return tuple(
        RelatedPlace(each.path, reason.span, f"{each.qualname} calls {reason.via[0]}" if reason.via else reason.message)
        for each, reason in way_to_hazard(decisions, decision, hazard)
    )


def _effects(snapshot: Snapshot, kind: EffectKind) -> Iterator[Effect]:
    for context in snapshot.facts.contexts:
        for effect in context.effects:
            if effect.kind is kind and not effect.via:
                yield effect


def _identity(effect: Effect) -> tuple[object, ...]:
    """Identifies the state: a module variable by its name, otherwise an attribute or element of an object."""
    target = effect.target
    return (target.object, target.name if target.root is RootKind.GLOBAL else "", target.path)


def _span_and_path(snapshot: Snapshot, site: EffectSite) -> tuple[Span, str]:
    module = snapshot.program.modules[site.module]
    return module.by_index[site.function].spans[site.op], module.path
