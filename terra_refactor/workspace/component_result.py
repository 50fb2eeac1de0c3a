"""The result of analysing one component, and the part of it that is kept.

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
    """The results about files that were analysed together."""

    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    """Before any selection; cures are confirmed."""
    judged: tuple[Finding, ...]
    """The findings of the judge, before their fixes were checked against the text."""
    errors: tuple[FileError, ...]
    files: tuple[str, ...]
    """The paths of those that could be lowered."""
    lines: int
    cached_files: int
    """The number of files that did not have to be parsed."""
    passed_over: int = 0
    """The number of skipped files."""
    unparsed: int = 0
    """The number of files of which it is not even known whether they parse."""
    regions: tuple[FoundRegion, ...] = ()
    """Hot statements outside of a function of their own."""
