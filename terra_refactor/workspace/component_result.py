"""The result of analysing one component, and the part of it that is cached.

Computes: nothing. Gives: `ComponentResult`.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.classify.decision import Decision
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.found_region import FoundRegion
from terra_refactor.workspace.results import FileError


@dataclass(frozen=True, slots=True)
class ComponentResult:
    """The results for the files of one component."""

    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    """Before selection; cures are confirmed."""
    judged: tuple[Finding, ...]
    """The findings of the judge, before their fixes were checked against the text."""
    errors: tuple[FileError, ...]
    files: tuple[str, ...]
    """The paths of the successfully lowered files."""
    lines: int
    cached_files: int
    """The number of files that were not parsed."""
    passed_over: int = 0
    """The number of skipped files."""
    unparsed: int = 0
    """The number of files for which it is unknown whether they parse."""
    regions: tuple[FoundRegion, ...] = ()
    """Hot statements without a function of their own."""
