"""The result of a component in which only comments, docstrings or layout changed: the cached one, with its positions
moved.

Computes: whether the files of a component equal the last judged ones except for such changes, and the result for the
present texts. Needs: the present texts, the cached results. Gives: `keep_texts`, `relaid_result`.

The last texts of each component are stored with its result. A result is moved only if every position in it can be
moved; otherwise, or if a message contains a line number, the component is analysed again. The report is the same
either way.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.classify.decision import Decision
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.lines import line_count
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.relocation import Relocation, RelocationError, relocation
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import ResultCache
from terra_refactor.workspace.component_result import ComponentResult

_SPEAKS_OF_LINES: Final = re.compile(r"\blines? \d")


@dataclass(frozen=True, slots=True)
class KeptTexts:
    """The last texts for which the result of a component was computed."""

    key: str
    """Key of that result in the cache."""
    digests: Mapping[str, str]
    """Digests of the files, by path."""
    texts: Mapping[str, bytes]
    """Compressed, by path."""


def keep_texts(results: ResultCache, place: str, key: str, sources: Mapping[str, Source]) -> None:
    """Stores the texts for which the result of a key was computed. `place` identifies all other dependencies of the result."""
    digests = {path: source.digest for path, source in sources.items()}
    texts = {
        path: zlib.compress(source.text.encode("utf-8", "surrogatepass"), 1)
        for path, source in sources.items()
        if source.notebook is None
    }
    results.keep_texts(place, KeptTexts(key, digests, texts))


def relaid_result(results: ResultCache, place: str, sources: Mapping[str, Source]) -> ComponentResult | None:
    """The result for the present texts; None if they differ from the last ones in more than comments, docstrings and layout."""
    kept = results.find_texts(place)
    if not isinstance(kept, KeptTexts) or kept.digests.keys() != sources.keys():
        return None
    changed = {path for path, source in sources.items() if kept.digests[path] != source.digest}
    if not changed <= kept.texts.keys() or any(sources[path].notebook is not None for path in changed):
        return None
    moves: dict[str, Relocation] = {}
    more_lines = 0
    for path in changed:
        old = zlib.decompress(kept.texts[path]).decode("utf-8", "surrogatepass")
        move = relocation(old, sources[path].text)
        if move is None:
            return None
        moves[path] = move
        more_lines += line_count(sources[path].text) - line_count(old)
    result = results.find(kept.key)
    if not isinstance(result, ComponentResult):
        return None
    try:
        return _moved(result, moves, sources, more_lines)
    except RelocationError:
        return None


def _moved(
    result: ComponentResult, moves: Mapping[str, Relocation], sources: Mapping[str, Source], more_lines: int
) -> ComponentResult:
    from terra_refactor.refactor.cures import confirm_cures  # noqa: PLC0415 - what is in the cache needs none

    if any(error.path in moves for error in result.errors):
        raise RelocationError("a file has errors, whose places need not be at tokens")
    if any(found.decision.path in moves for found in result.regions):
        raise RelocationError("what becomes a function is cut out of the text")
    if more_lines and any(_SPEAKS_OF_LINES.search(text) for text in _messages(result)):
        raise RelocationError("a message speaks of lines")
    judged = tuple(_moved_finding(finding, moves) for finding in result.judged)
    confirmed = confirm_cures(
        (finding for finding in judged if finding.path in moves), {path: sources[path] for path in moves}
    )
    of_changed = iter(confirmed)
    findings = (
        next(of_changed) if finding.path in moves else _moved_finding(finding, moves) for finding in result.findings
    )
    return replace(
        result,
        decisions=tuple(_moved_decision(decision, moves) for decision in result.decisions),
        findings=tuple(findings),
        judged=judged,
        lines=result.lines + more_lines,
        cached_files=len(result.files),
    )


def _moved_decision(decision: Decision, moves: Mapping[str, Relocation]) -> Decision:
    effects = tuple(
        replace(effect, span=_moved_span(effect.path, effect.span, moves)) for effect in decision.side_effects
    )
    move = moves.get(decision.path)
    if move is None:
        return decision if effects == decision.side_effects else replace(decision, side_effects=effects)
    return replace(
        decision,
        line=move.line(decision.line),
        end_line=(
            move.end_line(decision.end_line)
            if decision.kind is FunctionKind.LAMBDA
            else move.statement_end(decision.end_line)
        ),
        side_effects=effects,
        hazards=tuple(replace(hazard, span=move.span(hazard.span)) for hazard in decision.hazards),
    )


def _moved_finding(finding: Finding, moves: Mapping[str, Relocation]) -> Finding:
    if finding.path not in moves and not any(place.path in moves for place in finding.related):
        return finding
    return replace(
        finding,
        span=_moved_span(finding.path, finding.span, moves),
        related=tuple(replace(place, span=_moved_span(place.path, place.span, moves)) for place in finding.related),
    )


def _moved_span(path: str, span: Span, moves: Mapping[str, Relocation]) -> Span:
    move = moves.get(path)
    return span if move is None else move.span(span)


def _messages(result: ComponentResult) -> Iterator[str]:
    """All messages of a component, except those of its regions, which are in unchanged files."""
    for decision in result.decisions:
        yield from (decision.reason, *decision.assumptions)
        yield from (hazard.message for hazard in decision.hazards)
        yield from (effect.detail for effect in decision.side_effects)
    for finding in result.judged:
        yield finding.message
        yield from (place.message for place in finding.related)
