"""What an analysis, a lint or a fix of some paths gives.

Computes: nothing. Gives: frozen results, sorted by path and place, that the reports print; nothing in them depends on
the number of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.rules.rule import Finding


@dataclass(frozen=True, slots=True, order=True)
class FileError:
    """A file that could not be analysed. `line` is 0 where there is none."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Stats:
    """The size and cost of a run."""

    files: int
    """Files that were analysed."""
    lines: int
    cached_files: int
    """Files whose lowered form came from the cache."""
    seconds: float


@dataclass(frozen=True, slots=True)
class WorkspaceReport:
    """What is known about some paths."""

    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...]
    stats: Stats


@dataclass(frozen=True, slots=True)
class FixReport:
    """What is known, and what would change."""

    report: WorkspaceReport
    files: tuple[FileRefactoring, ...] = field(default=())
    """Files with at least one change, done or not, by path."""
