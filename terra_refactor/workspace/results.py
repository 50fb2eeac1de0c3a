"""Results of an analysis, a lint or a fix of some paths.

Computes: nothing. Gives: frozen results, sorted by path and place, that the reports print; nothing in them depends on
the number of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from terra_refactor.classify.decision import Decision
from terra_refactor.errors import SourceError
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.source import Source
from terra_refactor.verify.verdict import Verification
from terra_refactor.workspace.found_region import FoundRegion
from terra_refactor.workspace.pins import AssumedRelease


@dataclass(frozen=True, slots=True, order=True)
class FileError:
    """A file that could not be analysed. `line` is that of the file on disk, 0 where there is none."""

    path: str
    line: int
    message: str
    by_chance: bool = field(default=False, compare=False)
    """Whether another run may well do without it: a process died."""
    module_line: int = field(default=0, compare=False)
    """The line in the module that a notebook's cells make; elsewhere `line`."""

    @staticmethod
    def in_text(error: SourceError, source: Source) -> FileError:
        """An error in a source that was read. In a notebook, the place is that in the document, and the message names the cell."""
        line = error.line or 0
        if source.notebook is None or not line:
            return FileError(error.path, line, error.message, module_line=line)
        cell = source.notebook.cell_line(line)
        where = "" if cell is None else f" (cell {cell[0]}, line {cell[1]})"
        return FileError(
            error.path, source.notebook.document_place(line, 1)[0], error.message + where, module_line=line
        )


@dataclass(frozen=True, slots=True)
class Stats:
    """The size and cost of a run."""

    files: int
    """Files that were analysed."""
    lines: int
    cached_files: int
    """Files of which nothing had to be parsed: their lowered form, or all their results, came from the cache."""
    seconds: float
    passed_over: int = 0
    """Skipped files, which no program loads together with tensors."""
    unparsed: int = 0
    """The number of these of which it is not even known whether they parse, because there are very many."""


@dataclass(frozen=True, slots=True)
class SuppressedFinding:
    """A finding that a comment in the source switches off."""

    finding: Finding
    reason: str
    """The comment's text about it; empty if nothing."""


@dataclass(frozen=True, slots=True, order=True)
class KnownFinding:
    """A finding as a baseline remembers it."""

    path: str
    rule: str
    function: str
    message: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of a run with its baseline."""

    name: str
    """The baseline: the baseline's file, or a revision."""
    known: tuple[Finding, ...]
    """Findings of this run that the baseline has; they are not reported."""
    gone: tuple[KnownFinding, ...]
    """Findings of the baseline that are no more, in files that were analysed or do not exist any more."""
    totals: Mapping[str, int]
    """The counts of the run that the baseline was written by: functions by class, and `findings`."""


@dataclass(frozen=True, slots=True)
class WorkspaceReport:
    """The results about some paths."""

    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    """The findings to report: selected, not suppressed, and not in the baseline."""
    errors: tuple[FileError, ...]
    stats: Stats
    sources: Mapping[str, Source] = field(default_factory=dict, repr=False)
    """By path, of the files that were analysed."""
    suppressed: tuple[SuppressedFinding, ...] = ()
    comparison: Comparison | None = None
    skipped_links: tuple[str, ...] = ()
    """Links that lead out of the given paths and were not followed."""
    releases: tuple[AssumedRelease, ...] = ()
    """The releases of libraries that the files are taken to be written for."""
    evidence_notices: tuple[str, ...] = ()
    """Notices about the records of runs: those of older texts."""
    regions: tuple[FoundRegion, ...] = ()
    """Hot statements outside of a function of their own, by path and line."""


@dataclass(frozen=True, slots=True)
class FixReport:
    """The results, and the changes."""

    report: WorkspaceReport
    files: tuple[FileRefactoring, ...] = field(default=())
    """Files with at least one change, done or not, by path."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The changes, and the results of running before and after."""

    fixed: FixReport
    verification: Verification
