"""Findings as annotations of a GitHub workflow.

Needs: a `Report`. Gives: one workflow command per line (see "Workflow commands for GitHub Actions" in GitHub's
documentation), with paths from the repository's root. Ignores: functions.

GitHub shows ten annotations of each level of a step and silently drops the rest. So the first ten of each level are
commands, worst first, and the others are lines of the log in the same order, with a notice of their number.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from terra_refactor.report.places import path_in_repository
from terra_refactor.report.schema import DiagnosticEntry, ErrorEntry, Report
from terra_refactor.workspace.printable import printable

MAX_ANNOTATIONS: Final = 10
"""Maximum number of annotations of each level in a step."""
_COMMANDS: Final = {"error": "error", "warning": "warning", "information": "notice"}


def to_github(report: Report) -> str:
    """Files that could not be analysed, then diagnostics by severity and position."""
    order = list(_COMMANDS)
    entries = [("error", _error(error), _plain_error(error)) for error in report.errors]
    entries += [
        (_COMMANDS[found.severity], _command(found), f"{found.place}: {found.rule} [{found.name}] {found.message}")
        for found in sorted(report.diagnostics, key=lambda found: order.index(found.severity))
    ]
    shown: Counter[str] = Counter()
    lines: list[str] = []
    for level, command, plain in entries:
        shown[level] += 1
        # the notice about the remaining ones is an annotation itself
        limit = MAX_ANNOTATIONS - (1 if level == "notice" else 0)
        lines.append(command if shown[level] <= limit else _no_command(plain))
    hidden = sum(line[:2] != "::" for line in lines)
    if hidden:
        lines.append(f"::notice title=terra-refactor::{hidden} more in the log: GitHub shows ten of each level")
    return "".join(f"{line}\n" for line in lines)


def _command(found: DiagnosticEntry) -> str:
    message = (
        found.message if found.cell is None else f"cell {found.cell.index}, line {found.cell.line}: {found.message}"
    )
    return (
        f"::{_COMMANDS[found.severity]} file={_property(path_in_repository(found.path))},line={found.line},col={found.column},"
        f"endLine={found.end_line},endColumn={found.end_column},title={_property(f'{found.rule} {found.name}')}"
        f"::{_message(message)}"
    )


def _error(error: ErrorEntry) -> str:
    path = _property(path_in_repository(error.path))
    return f"::error file={path},line={error.line or 1},title=not analysed::{_message(error.message)}"


def _plain_error(error: ErrorEntry) -> str:
    return f"{error.path}:{error.line or 1}: not analysed: {error.message}"


def _no_command(text: str) -> str:
    return printable(" ".join(text.split()).replace("::", ": :")).replace("##[", "## [")


def _message(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
