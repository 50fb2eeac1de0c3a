"""Findings as a GitLab code quality report.

Needs: the results of a run with their sources. Gives: a JSON array of the fields that GitLab reads ("Code Quality" in
its documentation): each finding with a fingerprint by which GitLab distinguishes new ones from old ones when lines
move. Files that could not be analysed are issues of severity `blocker`. Paths are relative to the repository's root.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from terra_refactor.report.indented import indented_json
from terra_refactor.report.places import Places, path_in_repository
from terra_refactor.rules.rule import Severity
from terra_refactor.workspace.fingerprints import fingerprints
from terra_refactor.workspace.results import WorkspaceReport

_SEVERITIES: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "major",
    Severity.WARNING: "minor",
    Severity.INFORMATION: "info",
}


def to_gitlab(report: WorkspaceReport) -> str:
    """The array; ends in a newline."""
    places = Places(report.sources)
    issues: list[dict[str, Any]] = []
    for finding, fingerprint in zip(report.findings, fingerprints(report.findings, report.sources), strict=True):
        place = places.place(finding.path, finding.span)
        where = "" if place.cell is None else f" (cell {place.cell.index}, line {place.cell.line})"
        issues.append(
            {
                "description": f"{finding.rule}: {finding.message}{where}",
                "check_name": f"{finding.rule} {finding.name}",
                "fingerprint": _digest(finding.path, fingerprint),
                "severity": _SEVERITIES[finding.severity],
                "location": {
                    "path": path_in_repository(finding.path),
                    "positions": {
                        "begin": {"line": place.line, "column": place.column},
                        "end": {"line": place.end_line, "column": place.end_column},
                    },
                },
            }
        )
    issues.extend(
        {
            "description": f"not analysed: {error.message}",
            "check_name": "not-analysed",
            "fingerprint": _digest(error.path, error.message),
            "severity": "blocker",
            "location": {"path": path_in_repository(error.path), "lines": {"begin": error.line or 1}},
        }
        for error in report.errors
    )
    return indented_json(issues) + "\n"


def _digest(path: str, what: str) -> str:
    """GitLab requires fingerprints that are unique over all files."""
    return blake2b(f"{path}\0{what}".encode("utf-8", "replace"), digest_size=16).hexdigest()
