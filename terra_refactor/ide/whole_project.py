"""A whole project: its report, its totals, and all safe changes.

Computes: the snapshots of all components, one after the other. Needs: a session. Gives: `report_of`, `totals`,
`safe_changes`, `proposals`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.ide.code_actions import NewText, all_safe
from terra_refactor.ide.explanations import change_title, extraction_title
from terra_refactor.ide.region_findings import findings_of_regions, shown_findings
from terra_refactor.ide.regions import MODULE, Regions, beside_regions, find_regions
from terra_refactor.ide.session import Session
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.workspace.found_region import without_shim
from terra_refactor.workspace.results import Stats, WorkspaceReport
from terra_refactor.workspace.workspace import ProgressCallback


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of a project."""

    files: int = 0
    functions: int = 0
    findings: int = 0
    changes: int = 0
    """Functions with a proposed change."""
    safe_changes: int = 0
    errors: int = 0
    """Files that could not be analysed."""
    classes: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Totals) -> Totals:
        """The sum."""
        return Totals(
            self.files + other.files,
            self.functions + other.functions,
            self.findings + other.findings,
            self.changes + other.changes,
            self.safe_changes + other.safe_changes,
            self.errors + other.errors,
            dict(Counter(self.classes) + Counter(other.classes)),
        )

    def as_dict(self) -> dict[str, int]:
        """As a dict for the client."""
        return {
            "files": self.files,
            "functions": self.functions,
            "findings": self.findings,
            "changes": self.changes,
            "safeChanges": self.safe_changes,
            "errors": self.errors,
            **self.classes,
        }

    def __str__(self) -> str:
        broken = f", {self.errors} could not be analysed" if self.errors else ""
        return (
            f"{self.findings} findings, {self.changes} changes ({self.safe_changes} safe); "
            f"{self.functions} functions in {self.files} files{broken}."
        )


def totals(snapshot: Snapshot) -> Totals:
    """The counts of one component."""
    decisions = [decision for group in snapshot.decisions.values() for decision in group]
    return Totals(
        files=len(snapshot.sources),
        functions=len(decisions),
        findings=sum(
            len(snapshot.findings.get(path, ())) + len(shown_findings(snapshot, path)) for path in snapshot.sources
        ),
        changes=sum(decision.action is not Action.NONE for decision in decisions),
        safe_changes=sum(decision.action is not Action.NONE and decision.level is Level.SAFE for decision in decisions),
        errors=len(snapshot.errors),
        classes=dict(Counter(decision.classification.value for decision in decisions)),
    )


def _snapshots(session: Session, cancelled: Callable[[], bool], progress: ProgressCallback) -> Iterator[Snapshot]:
    for component in session.components():
        yield session.snapshot(component[0], cancelled, progress)


def report_of(session: Session, cancelled: Callable[[], bool], progress: ProgressCallback) -> WorkspaceReport:
    """The command line's report about the project.

    Raises:
        StaleError: `cancelled` returned True.
    """
    started = time.perf_counter()
    snapshots = tuple(_snapshots(session, cancelled, progress))
    regions = [
        tuple(found for group in find_regions(each, cancelled).values() for found in group) for each in snapshots
    ]
    modules = [module for snapshot in snapshots for module in snapshot.program.modules.values()]
    return WorkspaceReport(
        decisions=tuple(
            sorted(
                (
                    decision
                    for snapshot, found in zip(snapshots, regions, strict=True)
                    for group in snapshot.decisions.values()
                    for decision in without_shim(group, found)
                ),
                key=lambda decision: (decision.path, decision.line, decision.function),
            )
        ),
        findings=tuple(
            sorted(
                (
                    finding
                    for snapshot, found in zip(snapshots, regions, strict=True)
                    for findings in (*snapshot.findings.values(), findings_of_regions(snapshot, found))
                    for finding in findings
                ),
                key=lambda finding: (finding.path, finding.span, finding.rule, finding.message),
            )
        ),
        errors=tuple(sorted({*session.unreadable(), *(e for s in snapshots for e in s.errors.values())})),
        stats=Stats(len(modules), sum(module.line_count for module in modules), 0, time.perf_counter() - started),
        sources={path: snapshot.sources[path] for snapshot in snapshots for path in sorted(snapshot.module_names)},
        regions=tuple(
            sorted(
                (found for group in regions for found in group),
                key=lambda found: (found.decision.path, found.decision.line),
            )
        ),
    )


def safe_changes(
    session: Session,
    cancelled: Callable[[], bool],
    progress: ProgressCallback,
    only: Set[tuple[str, str, int]] | None = None,
) -> tuple[tuple[Snapshot, NewText], ...]:
    """The files changed by safe changes, each with its new text. `only`: changes of these functions, by path, qualified
    name and line of the `def`.

    Raises:
        StaleError: `cancelled` returned True.
    """
    found: list[tuple[Snapshot, NewText]] = []
    for snapshot in _snapshots(session, cancelled, progress):
        for path in snapshot.paths:
            result = all_safe(snapshot, path, only, cancelled)
            if result.text != snapshot.sources[path].text:
                found.append((snapshot, result))
    return tuple(sorted(found, key=lambda pair: pair[1].path))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of a function or of module code, for the list of all proposals."""

    snapshot: Snapshot = field(repr=False)
    path: str
    line: int
    """The line of the `def`, or of the code."""
    qualname: str
    """Qualified name of the changed function; `MODULE` for module code."""
    title: str
    """The change, as it will be written."""
    level: Level
    reason: str
    assumptions: tuple[str, ...]
    seconds_saved: float | None = None
    """Its expected gain in a run; None if unknown."""
    is_extraction: bool = False
    """Whether a part of it becomes a function."""


def proposals(session: Session, cancelled: Callable[[], bool], progress: ProgressCallback) -> tuple[Proposal, ...]:
    """The proposed change of each function and region: the largest gain first, then safe before speculative ones, then
    by position.

    Raises:
        StaleError: `cancelled` returned True.
    """
    found: list[Proposal] = []
    for snapshot in _snapshots(session, cancelled, progress):
        regions = find_regions(snapshot, cancelled)
        for path in dict.fromkeys((*snapshot.decisions, *regions)):  # a script may have steps, but no function
            here = Regions(tuple(each.decision for each in regions.get(path, ())))
            found.extend(_proposals(snapshot, path, snapshot.decisions.get(path, ()), here))
    return tuple(sorted(found, key=order_of_proposals))


def _proposals(snapshot: Snapshot, path: str, decisions: tuple[Decision, ...], regions: Regions) -> Iterator[Proposal]:
    shown = beside_regions(decisions, regions)
    lines = {decision.qualname: decision.line for decision in decisions}
    best = [regions.best_in(decision) for decision in shown]
    for decision in shown:
        if decision.action is not Action.NONE and regions.best_in(decision) is None:
            gain = decision.expected_gain
            yield Proposal(
                snapshot,
                path,
                decision.line,
                decision.qualname,
                change_title(decision),
                decision.level,
                decision.reason,
                decision.assumptions,
                None if gain is None else gain.seconds_saved,
            )
    for region in regions.decisions:
        if region.changes and (region.inside == MODULE or region in best):
            yield Proposal(
                snapshot,
                path,
                lines.get(region.inside, region.line),
                region.inside,
                extraction_title(region),
                region.level,
                region.reason,
                region.assumptions,
                is_extraction=True,
            )


def order_of_proposals(proposal: Proposal) -> tuple[float, int, str, int]:
    """The key by which proposals are sorted."""
    return -(proposal.seconds_saved or 0.0), [*Level].index(proposal.level), proposal.path, proposal.line
