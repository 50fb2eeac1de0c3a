"""Diagnostics: the findings of a file, or the error that prevents its analysis.

Computes: findings in an editor's form. Needs: a snapshot. Gives: `diagnostics`, `Problem`, `Tag`. Ignores: suppressed
findings, which the session has removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from terra_refactor.ide.causes import writing_places
from terra_refactor.ide.region_findings import shown_findings
from terra_refactor.ide.snapshot import NAMED, Snapshot, name_span
from terra_refactor.ide.unchanged import Unchanged, unchanged_functions
from terra_refactor.rules.misuse.deprecated_argument import RULE as DEPRECATED_ARGUMENT
from terra_refactor.rules.no_benefit.no_tensor_work import RULE as NO_TENSOR_WORK
from terra_refactor.rules.rule import RelatedPlace, Severity
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span


class Tag(Enum):
    """Display tags of a diagnostic."""

    UNNECESSARY = "unnecessary"
    DEPRECATED = "deprecated"


_TAGS = {
    NO_TENSOR_WORK.id: (Tag.UNNECESSARY,),  # a decorator that can be removed
    DEPRECATED_ARGUMENT.id: (Tag.DEPRECATED,),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic. `rule` is None for a file that could not be analysed."""

    rule: str | None
    name: str
    severity: Severity
    span: Span
    message: str
    fixable: bool = False
    related: tuple[RelatedPlace, ...] = ()
    tags: tuple[Tag, ...] = ()


@deeply
def diagnostics(snapshot: Snapshot, path: str) -> tuple[Problem, ...]:
    """The diagnostics of a file, in source order; without those that depend on callers that are not analysed yet."""
    error = snapshot.errors.get(path)
    if error is not None:
        line = max(1, error.module_line or error.line)
        # the editor's Python support reports the error itself; this explains why there are no findings
        return (Problem(None, "not-analysed", Severity.INFORMATION, Span(line, 1, line, 1), error.message),)
    unchanged = unchanged_functions(snapshot, path)
    if unchanged is None:
        return _in_order(_problems(snapshot, path))
    kept = [_moved(problem, unchanged, path) for problem in _problems(unchanged.before, path)]
    new = [
        problem
        for problem in _problems(snapshot, path)
        if unchanged.lines(snapshot, problem.span.line, problem.span.column) is None
    ]
    return _in_order((*filter(None, kept), *new))


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.span, problem.rule or "")))


def _moved(problem: Problem, unchanged: Unchanged, path: str) -> Problem | None:
    """A diagnostic from before an edit, at the present position of its code; None if the code has changed."""
    span = unchanged.span(problem.span)
    if span is None:
        return None
    related: list[RelatedPlace] = []
    for place in problem.related:
        moved = unchanged.span(place.span) if place.path == path else place.span
        if moved is not None:
            related.append(replace(place, span=moved))
    return replace(problem, span=span, related=tuple(related))


def _problems(snapshot: Snapshot, path: str) -> Iterator[Problem]:
    return (
        Problem(
            finding.rule,
            finding.name,
            finding.severity,
            _place(snapshot, path, finding.span),
            finding.message,
            finding.fixable,
            (*finding.related, *writing_places(snapshot, finding)),
            _TAGS.get(finding.rule, ()),
        )
        for finding in (*snapshot.findings.get(path, ()), *shown_findings(snapshot, path))
        if not snapshot.left_out or finding.severity is not Severity.INFORMATION
    )


def _place(snapshot: Snapshot, path: str, span: Span) -> Span:
    """The range of a finding: one about a whole function is shown at its name."""
    if (span.line, span.column) != (span.end_line, span.end_column):
        return span
    for function in snapshot.functions(path):
        if function.def_line == span.line and function.kind in NAMED:
            return name_span(snapshot, path, function)
    return span
