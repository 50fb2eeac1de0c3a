"""What a rule is, and what it finds.

Computes: nothing. Gives: `Severity`, `Finding`, `RelatedPlace`. A rule is declared once, in a file of its own below `rules/<family>/`, with
its id, name, severity, documentation and samples; `explain`, the manual, SARIF and the editor read that one declaration.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from terra_refactor.syntax.location import Span


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    """It fails, or silently computes something else; needs proof."""
    WARNING = "warning"
    """It costs time or hides a trap."""
    INFORMATION = "information"


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place that a finding speaks of: a call on the way to it, the origin of a shape."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnostic."""

    rule: str
    """Id, for example `TR401`."""
    name: str
    """Kebab-case name, for example `shape-mismatch`."""
    severity: Severity
    path: str
    span: Span
    message: str
    fixable: bool = False
    related: tuple[RelatedPlace, ...] = ()
