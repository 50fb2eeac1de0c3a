"""Report formats and destinations.

Computes: from `--format` and `--output`, which report is written where. Needs: the results of a run. Gives:
`check_format`, `read_targets`, `write_reports`, `warn_of_nothing`.

`--output FILE` redirects the report of `--format` to a file; `--output FORMAT:FILE`, which may be repeated, writes an
additional report. `-` is standard output.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from terra_refactor.cli.output import emit, err, out, to_string
from terra_refactor.errors import UsageError
from terra_refactor.report.schema import build_report
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.results import WorkspaceReport

TEXT: Final = "text"
WRITERS: Final = ("json", "jsonl", "sarif", "html", "github", "markdown", "gitlab", "junit", "rdjson")
"""The other formats."""
FORMATS: Final = (TEXT, *WRITERS)


_FEW_LINKS: Final = 5
OF_FINDINGS: Final = frozenset({TEXT, "sarif", "github", "gitlab", "junit", "rdjson"})
"""The formats that contain only findings and errors of `lint`."""


def coverage_for(targets: Sequence[ReportTarget]) -> AnalysedFiles:
    """The depth of analysis that the requested reports need."""
    return AnalysedFiles.FINDINGS if all(target.format in OF_FINDINGS for target in targets) else AnalysedFiles.EVERY


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """One requested report. `file` is None for standard output."""

    format: str
    file: str | None


def written(report: WorkspaceReport, format_name: str) -> str:
    """The report in one of the formats of `WRITERS`, by the module of `report` with its name; only that one is imported."""
    module = importlib.import_module(f"terra_refactor.report.to_{'json' if format_name == 'jsonl' else format_name}")
    write: Callable[..., str] = getattr(module, "to_json_lines" if format_name == "jsonl" else f"to_{format_name}")
    match format_name:
        case "json" | "jsonl" | "github":
            return write(build_report(report))
        case _:
            return write(report)


def check_format(value: str) -> str:
    """The format of that name.

    Raises:
        UsageError: there is none.
    """
    if value in FORMATS:
        return value
    close = difflib.get_close_matches(value, FORMATS, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise UsageError(f"--format: unknown format `{value}`; choose from {', '.join(FORMATS)}{hint}")


def read_targets(format_name: str, outputs: Sequence[str] | None) -> tuple[ReportTarget, ...]:
    """The requested reports; that of `--format` is the first.

    Raises:
        UsageError: there is no such format, two reports have the same destination, or a folder does not exist.
    """
    main = ReportTarget(check_format(format_name), None)
    others: list[ReportTarget] = []
    plain: list[str] = []
    for output in outputs or ():
        name, colon, file = output.partition(":")
        if not colon or len(name) == 1 or os.sep in name:  # a drive letter, or a path that contains a colon
            plain.append(output)
        elif name in FORMATS:
            if not file:
                raise UsageError(f"--output: {output} is not the name of a file")
            others.append(ReportTarget(name, None if file == "-" else file))
        else:
            close = difflib.get_close_matches(name, FORMATS, n=1)
            hint = f"; did you mean `{close[0]}:{file}`?" if close else f"; formats are {', '.join(FORMATS)}"
            raise UsageError(f"--output: unknown format `{name}`{hint}")
    if len(plain) > 1:
        raise UsageError("--output: only one file without a format; name the others FORMAT:FILE")
    if plain:
        main = ReportTarget(main.format, None if plain[0] == "-" else plain[0])
    elif any(target.file is None for target in others):
        return _checked(others)
    return _checked([main, *others])


def _checked(targets: Sequence[ReportTarget]) -> tuple[ReportTarget, ...]:
    seen: set[str | None] = set()
    for target in targets:
        place = None if target.file is None else os.path.abspath(target.file)
        if place in seen:
            raise UsageError(f"--output: two reports for {target.file or 'standard output'}")
        seen.add(place)
        if place is not None and not os.path.isdir(os.path.dirname(place)):
            raise UsageError(f"--output: {target.file} cannot be written: its folder does not exist")
    return tuple(targets)


def write_reports(targets: Sequence[ReportTarget], report: WorkspaceReport, show: Callable[[Console], None]) -> None:
    """Writes every report; `show` prints the text report, which each command defines itself.

    Raises:
        UsageError: a file cannot be written.
    """
    for target in targets:
        if target.format != TEXT:
            emit(written(report, target.format), target.file)
        elif target.file is not None:
            emit(to_string(show), target.file)
        else:
            show(out())


def warn_of_nothing(report: WorkspaceReport) -> None:
    """Reports on standard error what a report without findings would hide: links that were not followed, or that there
    was no file to read.
    """
    for link in report.skipped_links[:_FEW_LINKS]:
        err().print(f"warning: {link}: not read: a symbolic link out of the given paths", soft_wrap=True)
    if more := len(report.skipped_links[_FEW_LINKS:]):
        err().print(f"warning: {more} more symbolic links out of the given paths were not read", soft_wrap=True)
    for notice in report.evidence_notices:
        err().print(f"warning: {notice}", soft_wrap=True)
    if not report.stats.files and not report.errors:
        err().print(
            "warning: no Python files found under the given paths (files that git ignores or `exclude` matches are skipped)",
            soft_wrap=True,
        )
