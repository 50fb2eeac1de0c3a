"""Findings in the Reviewdog Diagnostic Format, which reviewdog turns into comments of a review with suggested changes.

Needs: the results of a run with their sources. Gives: `rdjson`, one document. Columns count bytes of UTF-8 from 1, as
specified (`proto/rdf` in reviewdog's repository). Paths are those of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from terra_refactor.report.indented import indented_json
from terra_refactor.report.places import Places, ReportPlace
from terra_refactor.rules.rule import Severity
from terra_refactor.syntax.location import Span
from terra_refactor.workspace.fixes import edits_of_file, fixes_of
from terra_refactor.workspace.results import WorkspaceReport

_SEVERITIES: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "ERROR",
    Severity.WARNING: "WARNING",
    Severity.INFORMATION: "INFO",
}


def to_rdjson(report: WorkspaceReport) -> str:
    """The document; ends in a newline."""
    places = Places(report.sources)

    def location(place: ReportPlace) -> dict[str, Any]:
        return {"path": place.path, "range": byte_range(place)}

    def byte_range(place: ReportPlace) -> dict[str, Any]:
        return {
            "start": {
                "line": place.line,
                "column": places.byte_column(place.path, place.line, place.column),
            },
            "end": {
                "line": place.end_line,
                "column": places.byte_column(place.path, place.end_line, place.end_column),
            },
        }

    def in_file(path: str, span: Span) -> ReportPlace:
        return ReportPlace(path, span.line, span.column, span.end_line, span.end_column)

    fixes = fixes_of(report, report.findings)
    diagnostics: list[dict[str, Any]] = []
    for finding in report.findings:
        place = places.place(finding.path, finding.span)
        where = "" if place.cell is None else f" (cell {place.cell.index}, line {place.cell.line})"
        entry: dict[str, Any] = {
            "message": f"{finding.message}{where}",
            "location": location(place),
            "severity": _SEVERITIES[finding.severity],
            "code": {"value": finding.rule},
        }
        if finding.related:
            entry["relatedLocations"] = [
                {"message": related.message, "location": location(places.place(related.path, related.span))}
                for related in finding.related
            ]
        if finding in fixes:
            edits = edits_of_file(report.sources[finding.path], fixes[finding])
            entry["suggestions"] = [
                {"range": byte_range(in_file(finding.path, span)), "text": text} for span, text in edits
            ]
        diagnostics.append(entry)
    for error in report.errors:
        start = {"line": error.line or 1}
        diagnostics.append(
            {
                "message": f"not analysed: {error.message}",
                "location": {"path": error.path, "range": {"start": start}},
                "severity": "ERROR",
            }
        )
    document = {"source": {"name": "terra-refactor"}, "diagnostics": diagnostics}
    return indented_json(document) + "\n"
