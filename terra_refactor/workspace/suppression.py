"""Applies suppression comments, and finds useless ones.

Computes: the findings that no comment suppresses; findings TR901 (useless) and TR902 (malformed) about the comments
themselves. Needs: all findings (whatever is selected), decisions, sources. Gives: `suppress`. Ignores: which rules
are selected.

A comment is useful if it covers a finding, or a hazard of a function: hazards of eager functions are not reported,
but a comment may be there for one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from terra_refactor.classify.decision import Decision
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding, Rule
from terra_refactor.rules.tool.malformed_suppression import RULE as MALFORMED
from terra_refactor.rules.tool.unused_suppression import RULE as UNUSED
from terra_refactor.syntax.comments import Suppression, SuppressionKind, Suppressions, read_suppressions
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.results import SuppressedFinding

ABOUT_COMMENTS: Final = frozenset({UNUSED.id, MALFORMED.id})
"""Findings about suppression comments, which no comment suppresses."""
NOTHING_UNCHECKED: Final[Mapping[str, Collection[str]]] = {}
_LIST = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The remaining and the suppressed findings."""

    findings: tuple[Finding, ...]
    """Including those about the comments themselves."""
    suppressed: tuple[SuppressedFinding, ...]


def suppress(
    findings: Iterable[Finding],
    decisions: Iterable[Decision],
    sources: Mapping[str, Source],
    unchecked: Mapping[str, Collection[str]] = NOTHING_UNCHECKED,
) -> Suppressed:
    """Removes the findings that comments in the sources suppress. `unchecked`: the rules that were not checked in a file, whose comments
    are not reported as unused."""
    comments = {
        path: found
        for path, source in sorted(sources.items())
        if (found := read_suppressions(source.text)).entries or found.malformed
    }
    used: dict[str, set[tuple[Suppression, str]]] = defaultdict(set)
    left: list[Finding] = []
    suppressed: list[SuppressedFinding] = []
    for finding in findings:
        here = comments.get(finding.path)
        if here is None:
            left.append(finding)
            continue
        span = finding.span
        used[finding.path].update(_covering(here, finding.rule, finding.name, span))
        silencing = here.find(finding.rule, span.line, span.end_line, finding.name)
        if silencing is None:
            left.append(finding)
        else:
            suppressed.append(SuppressedFinding(finding, silencing.reason))
    rules = all_rules() if comments else {}
    for decision in decisions:
        if decision.path in comments:
            for hazard in decision.hazards:
                name = rules[hazard.rule].name if hazard.rule in rules else ""
                used[decision.path].update(_covering(comments[decision.path], hazard.rule, name, hazard.span))
    for path, here in comments.items():
        left.extend(_about(path, sources[path], here, used[path], unchecked.get(path, ())))
    return Suppressed(tuple(left), tuple(suppressed))


def _covering(here: Suppressions, rule: str, name: str, span: Span) -> Iterator[tuple[Suppression, str]]:
    """Each entry that covers the position, with each of its codes that matches the rule."""
    for entry in here.entries:
        if entry.first_line <= span.end_line and span.line <= entry.last_line:
            for code in entry.codes or ("",):
                if rule.startswith(code) or code == name:
                    yield entry, code


def _about(
    path: str,
    source: Source,
    here: Suppressions,
    used: set[tuple[Suppression, str]],
    unchecked: Collection[str],
) -> Iterator[Finding]:
    """Findings about the comments of one file."""
    for malformed in here.malformed:
        yield _finding(MALFORMED, path, malformed.span, f"the comment {malformed.message}")
    by_comment: dict[Span, list[Suppression]] = {}
    for entry in here.entries:
        by_comment.setdefault(entry.span, []).append(entry)
    for span, entries in by_comment.items():
        codes = [(entry, code) for entry in entries for code in entry.codes or ("",)]
        unknown = [code for _, code in codes if code and not _is_known(code)]
        if unknown:
            yield _finding(MALFORMED, path, span, f"the comment names {_listed(unknown)}, and there is no such rule")
        unused = [
            (entry, code)
            for entry, code in codes
            if (entry, code) not in used and code not in unknown and not _may_be_about(code, unchecked)
        ]
        if unused:
            names = [code for _, code in unused if code]
            verb = "report" if len(names) > 1 else "reports"
            message = f"{_listed(names)} {verb} nothing here" if names else "no rule reports anything here"
            fix = _removal(source.text, entries, {code for _, code in unused}) if not unknown else ()
            yield _finding(UNUSED, path, span, message, fix)


def _may_be_about(code: str, unchecked: Collection[str]) -> bool:
    rules = all_rules()
    return any(rule.startswith(code) or rules[rule].name == code for rule in unchecked)


def _is_known(code: str) -> bool:
    return any(rule.id.startswith(code) or rule.name == code for rule in all_rules().values())


def _removal(text: str, entries: Sequence[Suppression], codes: set[str]) -> tuple[Edit, ...]:
    """The edits that remove the codes, or the whole comment; none if the user must decide."""
    lines = LineIndex(text)
    span = entries[0].span
    every = {code for entry in entries for code in entry.codes or ("",)}
    if codes == every:
        ends = {entry.closed_by for entry in entries if entry.closed_by is not None}
        if len(ends) > 1 or any(_codes_of(text, lines, end) not in (None, every) for end in ends):
            return ()
        return tuple(_comment_removed(text, lines, at) for at in (span, *ends))
    if entries[0].kind is SuppressionKind.BLOCK:
        return ()
    start, end = lines.offset(span.line, span.column), lines.offset(span.end_line, span.end_column)
    found = _LIST.search(text, start, end)
    if found is None:
        return ()
    kept = [name.strip() for name in found[1].split(",") if name.strip()]
    kept = [name for name in kept if (name if "-" in name else name.upper()) not in codes]
    return (Edit(found.start(1), found.end(1), ", ".join(kept)),)


def _codes_of(text: str, lines: LineIndex, span: Span) -> set[str] | None:
    """The codes that a comment lists; None if it lists none."""
    start, end = lines.offset(span.line, span.column), lines.offset(span.end_line, span.end_column)
    found = _LIST.search(text, start, end)
    if found is None:
        return None
    return {name.strip() if "-" in name else name.strip().upper() for name in found[1].split(",") if name.strip()}


def _comment_removed(text: str, lines: LineIndex, span: Span) -> Edit:
    """The edit that removes the comment with the blanks before it, or the whole line if nothing else is on it."""
    start, end = lines.offset(span.line, span.column), lines.offset(span.end_line, span.end_column)
    line_start = lines.offset(span.line, 1)
    line_end = lines.offset(span.line + 1, 1) if span.line < len(lines) else len(text)
    before, after = text[line_start:start], text[end:line_end]
    if not before.strip() and not after.strip():
        return Edit(line_start, line_end, "")
    if after.strip():  # another comment follows, and takes its place
        return Edit(start, end + len(after) - len(after.lstrip(" \t")), "")
    return Edit(line_start + len(before.rstrip(" \t")), line_end - len(after.lstrip(" \t")), "")


def _finding(rule: Rule, path: str, span: Span, message: str, fix: tuple[Edit, ...] = ()) -> Finding:
    return Finding(rule.id, rule.name, rule.severity, path, span, message, fixable=bool(fix), fix=fix)


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes)
