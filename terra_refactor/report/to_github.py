"""Findings as annotations of a GitHub workflow.

Needs: a `Report`. Gives: one workflow command a line (see "Workflow commands for GitHub Actions" in GitHub's
documentation).
"""

from __future__ import annotations

from terra_refactor.report.schema import Report

_COMMANDS = {"error": "error", "warning": "warning", "information": "notice"}


def to_github(report: Report) -> str:
    """Diagnostics, then files that could not be analysed."""
    lines = [
        f"::{_COMMANDS[found.severity]} file={_property(found.path)},line={found.line},col={found.column},"
        f"endLine={found.end_line},endColumn={found.end_column},title={_property(f'{found.rule} {found.name}')}"
        f"::{_message(found.message)}"
        for found in report.diagnostics
    ]
    lines.extend(
        f"::error file={_property(error.path)},line={error.line or 1},title=not analysed::{_message(error.message)}"
        for error in report.errors
    )
    return "".join(f"{line}\n" for line in lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
