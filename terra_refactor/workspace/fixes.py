"""The edits that would remove each finding.

Computes: edits of a file's module text, or of the file on disk. Needs: the results of a run, with its sources. Gives:
`edits_by_function`, `fixes_of`, `fix_findings`, `followed_by`, `edits_of_file`. Ignores: whether the user would
accept them, for which the finding's rule and the decision's assumptions give reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.errors import SourceError
from terra_refactor.ir.ids import FunctionId
from terra_refactor.refactor.cures import Cure, cure_of
from terra_refactor.refactor.plan import allows, edits_of_each
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import Edit, apply_edits, check_edits, minimal_edits
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.results import WorkspaceReport


def edits_by_function(report: WorkspaceReport) -> Mapping[FunctionId, tuple[Edit, ...]]:
    """The edits of each decision's change by itself, by function, for any level."""
    by_path: dict[str, list[Decision]] = {}
    for decision in report.decisions:
        if decision.action is not Action.NONE and decision.path in report.sources:
            by_path.setdefault(decision.path, []).append(decision)
    edits: dict[FunctionId, tuple[Edit, ...]] = {}
    for path, decisions in sorted(by_path.items()):
        edits.update(edits_of_each(report.sources[path], decisions))
    return edits


def fixes_of(report: WorkspaceReport, findings: Iterable[Finding]) -> Mapping[Finding, tuple[Edit, ...]]:
    """The edits that remove each finding, for findings that have any."""
    fixes: dict[Finding, tuple[Edit, ...]] = {}
    by_name: dict[tuple[str, str], list[Decision]] = {}
    for decision in report.decisions:
        if decision.action is not Action.NONE:
            by_name.setdefault((decision.path, decision.qualname), []).append(decision)
    edits: Mapping[FunctionId, tuple[Edit, ...]] | None = None
    for finding in findings:
        if finding.fix:
            fixes[finding] = finding.fix
            continue
        if finding.cure is not None:
            cure = cure_of(report.sources[finding.path], finding) if finding.path in report.sources else None
            if isinstance(cure, Cure):
                fixes[finding] = cure.edits
            continue
        candidates = by_name.get((finding.path, finding.function), [])
        if not finding.fixable or not candidates:
            continue
        if edits is None:
            edits = edits_by_function(report)
        line = finding.span.line
        decision = min(candidates, key=lambda decision: abs(decision.line - line))
        if decision.function in edits:
            fixes[finding] = edits[decision.function]
    return fixes


def fix_findings(report: WorkspaceReport, findings: Sequence[Finding], level: Level) -> tuple[FileRefactoring, ...]:
    """Each file after the fixes of its findings, as far as the level allows; of two overlapping fixes the first is applied."""
    fixes = fixes_of(report, findings)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding in fixes:
            by_path.setdefault(finding.path, []).append(finding)
    files: list[FileRefactoring] = []
    for path, found in sorted(by_path.items()):
        source = report.sources[path]
        # parsing after each of many fixes takes long: first all that do not overlap, then one by one only if the
        # result does not parse
        apart = _apart([fixes[finding] for finding in found if _is_allowed(finding, level)])
        is_parsed = _parses(source, apart)
        edits: tuple[Edit, ...] = ()
        changes: list[Change] = []
        for finding in found:
            assumptions = finding.cure.assumptions if finding.cure is not None else ()
            outcome, reason = Outcome.DONE, finding.message
            needed = None
            if not _is_allowed(finding, level):
                needed = Level.SPECULATIVE
                outcome, reason = Outcome.SKIPPED, f"needs --level {needed.value}"
            else:
                together = _together(source, edits, fixes[finding], is_parsed=is_parsed)
                if together is None:
                    outcome, reason = Outcome.SKIPPED, "another fix changes the same text; run it once more"
                else:
                    edits = together
            title = f"{finding.rule} {finding.name}"
            name = finding.function or "<module>"
            line = finding.span.line
            changes.append(Change(path, name, line, Action.NONE, outcome, reason, assumptions, title, needed))
        files.append(FileRefactoring(source, tuple(changes), apply_edits(source.text, edits)))
    return tuple(files)


def followed_by(files: Mapping[str, FileRefactoring], more: Iterable[FileRefactoring]) -> dict[str, FileRefactoring]:
    """The files by path, with the later changes, up to their new texts; a change that was not made before is attempted again."""
    latest = {file.source.path: file for file in more}
    result: dict[str, FileRefactoring] = {}
    for path in files.keys() | latest.keys():
        first, last = files.get(path), latest.get(path)
        done = () if first is None else tuple(change for change in first.changes if change.outcome is Outcome.DONE)
        if first is None:
            assert last is not None, "the path is of one of them"
            result[path] = last
        elif last is None:
            result[path] = replace(first, changes=done)
        else:
            result[path] = FileRefactoring(first.source, (*done, *last.changes), last.new_text)
    return result


def _is_allowed(finding: Finding, level: Level) -> bool:
    assumptions = finding.cure.assumptions if finding.cure is not None else ()
    return not assumptions or allows(level, Level.SPECULATIVE)


def _apart(fixes: Sequence[tuple[Edit, ...]]) -> tuple[Edit, ...]:
    """The edits of all fixes that do not overlap with those before them."""
    edits: tuple[Edit, ...] = ()
    for fix in fixes:
        with suppress(ValueError):
            edits = check_edits((*edits, *fix))
    return edits


def _parses(source: Source, edits: tuple[Edit, ...]) -> bool:
    """Whether the text parses after the edits, and can be written."""
    try:
        changed = replace(source, text=apply_edits(source.text, edits))
        parse_module(changed)
        source.encode(changed.text)
    except (SourceError, ValueError):
        return False
    return True


def _together(
    source: Source, edits: tuple[Edit, ...], more: tuple[Edit, ...], *, is_parsed: bool
) -> tuple[Edit, ...] | None:
    """All the edits; None if they overlap, or if the resulting text does not parse (unless that is known)."""
    try:
        together = check_edits((*edits, *more))
    except (SourceError, ValueError):
        return None
    return together if is_parsed or _parses(source, together) else None


def edits_of_file(source: Source, edits: Sequence[Edit]) -> tuple[tuple[Span, str], ...]:
    """Edits of the module text as edits of the file: the replaced range, and the replacement.

    For a notebook they are edits of its JSON document.
    """
    text = source.text
    if source.notebook is not None:
        text = source.notebook.document
        after = source.notebook.with_module_text(apply_edits(source.text, edits), source.path)
        edits = minimal_edits(text, after)
    lines = LineIndex(text)
    return tuple((lines.span(edit.start, edit.end), edit.replacement) for edit in sorted(edits))
