"""Regions as results: the decision about each, its finding, and its extraction.

Gives: `FoundRegion`, `may_have_regions`, `chosen_regions`, `without_shim`, `outside_shim`, `region_findings`,
`rewritten`, `with_text`. A run with only cache hits needs nothing else about regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, TypeAlias

from terra_refactor.classify.assessment import takes_tensors
from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.classify.region import RegionDecision
from terra_refactor.refactor.regions.region import ExtractedFunction, apply_regions
from terra_refactor.rules.no_benefit.missed_extraction import RULE as MISSED_EXTRACTION
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source

LeftOut: TypeAlias = Mapping[tuple[str, int, str], str]
"""Functions that must not change, with the reason, by path, line and qualified name."""


_LEVELS: Final = tuple(Level)


@dataclass(frozen=True, slots=True)
class FoundRegion:
    """The decision about a region, and its extraction; None if it cannot be extracted."""

    decision: RegionDecision
    region: ExtractedFunction | None = field(repr=False)
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    """All edits: the function, its decorator, and the import that the decorator may need."""


def may_have_regions(source: Source) -> bool:
    """Whether a text may have regions, which are around tapes."""
    return "GradientTape" in source.text and source.reversible


def chosen_regions(
    regions: Iterable[FoundRegion], level: Level, only: Sequence[str], left_out: LeftOut
) -> tuple[FoundRegion, ...]:
    """The regions that `fix` extracts at a level; `only` those with these names, if any are given."""
    return tuple(
        found
        for found in regions
        if found.region is not None
        and _LEVELS.index(found.decision.level) <= _LEVELS.index(level)
        and (not only or found.decision.qualname in only)
        and (found.decision.path, found.decision.line, found.decision.qualname) not in left_out
    )


def without_shim(decisions: Iterable[Decision], regions: Iterable[FoundRegion]) -> tuple[Decision, ...]:
    """The decisions without co-execution of functions whose step becomes a graph, unless tensors are passed to the
    function.

    Without tensor arguments, the step usually is all of the tensor work, and a graph of it is faster than the shim.
    """
    extracted = {(each.decision.path, each.decision.inside) for each in regions if each.decision.extract}
    return tuple(
        replace(each, action=Action.NONE, level=Level.SAFE)
        if each.action is Action.CO_EXECUTE
        and (each.path, each.qualname) in extracted
        and not takes_tensors(each.parameters)
        else each
        for each in decisions
    )


def outside_shim(regions: Iterable[FoundRegion], decisions: Iterable[Decision]) -> tuple[FoundRegion, ...]:
    """The regions, without co-execution in functions that the shim runs as a whole."""
    whole = {(each.path, each.qualname) for each in decisions if each.action is Action.CO_EXECUTE}
    return tuple(
        FoundRegion(replace(each.decision, co_execute=False, level=Level.SPECULATIVE), None)
        if each.decision.co_execute and (each.decision.path, each.decision.inside) in whole
        else each
        for each in regions
    )


def rewritten(source: Source, regions: Iterable[ExtractedFunction]) -> Source:
    """The source with some regions as functions."""
    return with_text(source, apply_regions(source.text, regions))


def with_text(source: Source, text: str) -> Source:
    """The source with another text of the same module."""
    return replace(source, text=text, digest=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())


def region_findings(regions: Iterable[FoundRegion]) -> tuple[Finding, ...]:
    """The findings for regions that should become functions."""
    rule = MISSED_EXTRACTION
    return tuple(
        Finding(
            rule.id,
            rule.name,
            rule.severity,
            found.decision.path,
            Span(found.decision.line, 1, found.decision.line, 1),
            _message(found.decision),
            fixable=found.decision.level is Level.SAFE,
            fix=found.edits if found.decision.level is Level.SAFE else (),
            function="" if found.decision.inside == "<module>" else found.decision.inside,
        )
        for found in regions
        if found.decision.extract
    )


def _message(decision: RegionDecision) -> str:
    return (
        f"lines {decision.line} to {decision.end_line} run eagerly on every iteration; as a function `{decision.function_name}` "
        f"they can be a graph: {decision.reason}"
    )
