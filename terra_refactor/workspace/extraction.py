"""Fixing files in which regions become functions: the text with the functions is analysed and refactored like any other
text.

Computes: the resulting files, as changes of the original texts. Needs: the original report, the regions, functions
that analyse other texts and refactor the results. Gives: `extract_and_refactor`. Ignores: the choice of regions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from terra_refactor.classify.decision import Action, Level
from terra_refactor.classify.region import RegionDecision
from terra_refactor.refactor.regions.region import ExtractedFunction, apply_regions
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.syntax.edit import split_lines
from terra_refactor.workspace.found_region import FoundRegion, LeftOut
from terra_refactor.workspace.results import WorkspaceReport

Analyze: TypeAlias = Callable[[Mapping[str, str]], WorkspaceReport]
Refactor: TypeAlias = Callable[[WorkspaceReport, LeftOut], tuple[FileRefactoring, ...]]


def extract_and_refactor(
    report: WorkspaceReport, chosen: Sequence[FoundRegion], left_out: LeftOut, analyze: Analyze, refactor: Refactor
) -> tuple[FileRefactoring, ...]:
    """The files that change when the chosen regions become functions.

    A region whose function does not become a graph is not extracted.
    """
    skipped: list[Change] = []
    while True:
        regions: dict[str, list[FoundRegion]] = {}
        for found in chosen:
            regions.setdefault(found.decision.path, []).append(found)
        lines = {path: _lines(report.sources[path].text, _made(here)) for path, here in regions.items()}
        texts = {path: apply_regions(report.sources[path].text, _made(here)) for path, here in regions.items()}
        later = analyze(texts)
        files = refactor(later, _moved(left_out, lines))
        done = {
            (change.path, change.qualname, change.action)
            for file in files
            for change in file.changes
            if change.outcome is Outcome.DONE
        }
        wrong = [
            found
            for found in chosen
            if (found.decision.path, found.decision.qualname, _decorated(found.decision)) not in done
        ]
        if not wrong:
            break
        reasons = {(decision.path, decision.qualname): decision.reason for decision in later.decisions}
        for found in wrong:
            key = (found.decision.path, found.decision.qualname)
            skipped.append(_change(found, Outcome.SKIPPED, reasons.get(key, "it could not be analysed")))
        chosen = [found for found in chosen if found not in wrong]
    results = {file.source.path: _told(file, report, later, regions, lines, texts) for file in files}
    for change in skipped:
        file = results.get(change.path) or FileRefactoring(
            report.sources[change.path], (), report.sources[change.path].text
        )
        changes = tuple(sorted((*file.changes, change), key=lambda each: each.line))
        results[change.path] = replace(file, changes=changes)
    return tuple(file for _, file in sorted(results.items()))


def _decorated(decision: RegionDecision) -> Action:
    """The action for the function that a region becomes."""
    return Action.CO_EXECUTE if decision.co_execute else Action.ADD_TF_FUNCTION


def _made(regions: Sequence[FoundRegion]) -> list[ExtractedFunction]:
    return [found.region for found in regions if found.region is not None]


def _told(
    file: FileRefactoring,
    report: WorkspaceReport,
    later: WorkspaceReport,
    regions: Mapping[str, Sequence[FoundRegion]],
    lines: Mapping[str, Mapping[int, int]],
    texts: Mapping[str, str],
) -> FileRefactoring:
    """The changes of a file relative to its text before any region became a function."""
    path = file.source.path
    if path not in regions:
        return file
    made = {found.decision.qualname: found for found in regions[path]}
    back = {new: old for old, new in lines[path].items()}
    changes = []
    for change in file.changes:
        found = made.get(change.qualname)
        if found is None:
            changes.append(replace(change, line=back.get(change.line, change.line)))
        else:
            changes.append(_change(found, change.outcome, change.reason, change.level))
    extracted = tuple(
        replace(decision, line=made[decision.qualname].decision.line)
        for decision in later.decisions
        if decision.path == path and decision.qualname in made
    )
    ordered = tuple(sorted(changes, key=lambda change: change.line))
    return FileRefactoring(report.sources[path], ordered, file.new_text, texts[path], extracted)


def _change(found: FoundRegion, outcome: Outcome, reason: str, level: Level | None = None) -> Change:
    decision = found.decision
    if decision.co_execute:
        reason = f"with `co_execute`: {reason}"
    return Change(
        decision.path,
        decision.qualname,
        decision.line,
        Action.EXTRACT_TF_FUNCTION,
        outcome,
        reason,
        decision.assumptions,
        level=level,
    )


def _lines(text: str, regions: Sequence[ExtractedFunction]) -> dict[int, int]:
    """The new line of each line of a text after regions became functions; lines of the regions have none."""
    moves: dict[int, int] = {}
    gone: set[int] = set()
    offset = 0
    starts: dict[int, int] = {}
    for number, line in enumerate(split_lines(text), start=1):
        starts[offset] = number
        offset += len(line)
    last = len(starts) + 1
    for region in regions:
        at = starts.get(region.insert_at, last)
        moves[at] = moves.get(at, 0) + len(split_lines(region.definition))
        first, end = starts[region.start], starts.get(region.end, last)
        gone.update(range(first, end))
        moves[end] = moves.get(end, 0) + len(split_lines(region.call)) - (end - first)
    found, by = {}, 0
    for number in range(1, last):
        by += moves.get(number, 0)
        if number not in gone:
            found[number] = number + by
    return found


def _moved(left_out: LeftOut, lines: Mapping[str, Mapping[int, int]]) -> LeftOut:
    return {
        (path, lines.get(path, {}).get(line, line), qualname): reason
        for (path, line, qualname), reason in left_out.items()
    }
