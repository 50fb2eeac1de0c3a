"""Results of `analyze`, `lint` and `fix`.

Computes: nothing. Gives: frozen results, sorted by path and position, that the reports print; they do not depend on
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
    """A file that could not be analysed. `line` is a line of the file on disk, 0 if there is none."""

    path: str
    line: int
    message: str
    by_chance: bool = field(default=False, compare=False)
    """Whether another run may succeed: a process died."""
    module_line: int = field(default=0, compare=False)
    """The line in the module of a notebook's cells; otherwise equal to `line`."""

    @staticmethod
    def in_text(error: SourceError, source: Source) -> FileError:
        """An error in a source that was read.

        For a notebook, the position is that in the document, and the message names the cell.
        """
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
    """Files for which nothing was parsed: their lowered form, or all their results, came from the cache."""
    seconds: float
    passed_over: int = 0
    """Skipped files, which no program loads together with tensors."""
    unparsed: int = 0
    """The number of these for which it is unknown whether they parse, because there are very many."""


@dataclass(frozen=True, slots=True)
class SuppressedFinding:
    """A finding suppressed by a comment in the source."""

    finding: Finding
    reason: str
    """The reason in the comment; may be empty."""


@dataclass(frozen=True, slots=True, order=True)
class KnownFinding:
    """A finding in the form of a baseline."""

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
    """Findings of this run that the baseline contains; they are not reported."""
    gone: tuple[KnownFinding, ...]
    """Findings of the baseline that no longer occur, in files that were analysed or no longer exist."""
    totals: Mapping[str, int]
    """The counts of the run that wrote the baseline: functions by class, and `findings`."""


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
    """The library releases for which the files are assumed to be written."""
    evidence_notices: tuple[str, ...] = ()
    """Notices about the records of runs, such as records of older texts."""
    regions: tuple[FoundRegion, ...] = ()
    """Hot statements without a function of their own, by path and line."""


@dataclass(frozen=True, slots=True)
class FixReport:
    """The results, and the changes."""

    report: WorkspaceReport
    files: tuple[FileRefactoring, ...] = field(default=())
    """Files with at least one change, made or not, by path."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The changes, and the results of running the program before and after."""

    fixed: FixReport
    verification: Verification
