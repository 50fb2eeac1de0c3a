"""`lint`: the findings in the usual form of linters, with baselines, suppression comments and statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from terra_refactor.cli.completion import complete_threshold
from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, FINDINGS, UNREADABLE
from terra_refactor.cli.groups import grouped
from terra_refactor.cli.options import (
    BaselineOption,
    DiffBase,
    Format,
    Ignore,
    Output,
    Paths,
    RunOptions,
    Select,
    ShrinkBaseline,
    WriteBaseline,
    show_settings,
)
from terra_refactor.cli.output import err, progress_callback
from terra_refactor.cli.reporting import coverage_for, read_targets, warn_of_nothing, write_reports
from terra_refactor.cli.watch import watch_files
from terra_refactor.config import NEVER, SEVERITIES, Config, check_inside, repository_of
from terra_refactor.errors import SourceError, UsageError
from terra_refactor.refactor.apply import write_file
from terra_refactor.report.to_text import (
    by_gain,
    print_comparison,
    print_errors,
    print_findings,
    print_findings_summary,
    print_statistics,
)
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.baseline import DEFAULT_FILE, save_baseline
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.ignores import add_ignores
from terra_refactor.workspace.results import FileError, WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

AddIgnores = Annotated[
    bool, typer.Option("--add-ignores", help="For each finding, write a comment that suppresses it into the source.")
]
Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="With --add-ignores: the reason that each comment gives."),
]
Statistics = Annotated[
    bool, typer.Option("--statistics", help="Print the number of findings per rule instead of the findings.")
]
WatchOption = Annotated[bool, typer.Option("--watch", help="Lint again whenever a file changes, until Ctrl-C.")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="SEVERITY",
        autocompletion=complete_threshold,
        help="Exit with 1 only for findings of at least this severity (error, warning, information), or never.",
    ),
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 even if there are findings.")]


@guarded
@grouped
def lint_command(
    paths: Paths,
    *,
    format: Format = "text",  # noqa: A002 - the option's name
    output: Output = None,
    select: Select = None,
    ignore: Ignore = None,
    baseline: BaselineOption = None,
    write_baseline: WriteBaseline = False,
    shrink_baseline: ShrinkBaseline = False,
    diff_base: DiffBase = None,
    add_ignore_comments: AddIgnores = False,
    reason: Reason = None,
    statistics: Statistics = False,
    watch: WatchOption = False,
    fail_on: FailOn = None,
    exit_zero: ExitZero = False,
    run: RunOptions,
) -> int:
    """Find code that fails, behaves differently or is slow as a graph, and shape errors."""
    targets = read_targets(format, output)
    settings = run.settings(
        paths, select=select, ignore=ignore, baseline=baseline, fail_on=NEVER if exit_zero else fail_on
    )
    if run.show_settings:
        return show_settings(settings)
    _check_together(("--diff-base", diff_base is not None), ("--baseline", baseline is not None))
    _check_together(
        ("--diff-base", diff_base is not None and not watch),
        ("--write-baseline", write_baseline),
        ("--shrink-baseline", shrink_baseline),
        ("--add-ignores", add_ignore_comments),
        ("--watch", watch),
    )
    if reason is not None and not add_ignore_comments:
        raise UsageError("--reason: requires --add-ignores")
    saved_to = _baseline_file(settings)
    if write_baseline or shrink_baseline:
        check_inside(
            saved_to, repository_of(saved_to.parent), "--baseline"
        )  # a link of that name may belong to anybody
    if (write_baseline or shrink_baseline) and not saved_to.exists():
        if shrink_baseline:
            raise UsageError(f"--shrink-baseline: {saved_to} does not exist; --write-baseline writes it")
        settings = replace(settings, baseline=None)
    elif write_baseline or shrink_baseline:
        settings = replace(settings, baseline=str(saved_to.absolute()))

    with progress_callback(quiet=run.quiet) as progress:
        options = run.options(
            paths,
            settings,
            progress,
            diff_base=diff_base,
            coverage=AnalysedFiles.EVERY if write_baseline else coverage_for(targets),
        )
        report = analyze(paths, options)
    if write_baseline or shrink_baseline:
        return _save(saved_to, report, shrink=shrink_baseline, quiet=run.quiet)
    if add_ignore_comments:
        return _add_ignores(report, reason or "")

    def print_report(report: WorkspaceReport) -> int:
        def show(console: Console) -> None:
            if statistics:
                print_statistics(console, report.findings)
            else:
                print_findings(console, by_gain(report), report.sources, verbose=run.verbose)
            print_errors(console, report.errors)
            if not run.quiet:
                print_findings_summary(console, report.findings)
                print_comparison(console, report)

        write_reports(targets, report, show)
        warn_of_nothing(report)
        return UNREADABLE if report.errors else _exit_code(report.findings, settings)

    if not watch:
        return print_report(report)
    print_report(report)
    return watch_files(paths, options, lambda: _again(paths, options, print_report))


def _again(paths: list[str], options: Options, print_report: Callable[[WorkspaceReport], int]) -> None:
    print_report(analyze(paths, replace(options, progress=None)))


def _check_together(*given: tuple[str, bool]) -> None:
    """Raises UsageError if two options exclude each other."""
    names = [name for name, is_given in given if is_given]
    if len(names) > 1:
        raise UsageError(f"{names[0]}: cannot be combined with {names[1]}")


def _baseline_file(settings: Config) -> Path:
    return Path(settings.folder or ".", settings.baseline or DEFAULT_FILE)


def _exit_code(findings: tuple[Finding, ...], settings: Config) -> int:
    if settings.fail_on == NEVER:
        return DONE
    counted = SEVERITIES[: SEVERITIES.index(settings.fail_on) + 1]
    return FINDINGS if any(finding.severity.value in counted for finding in findings) else DONE


def _save(file: Path, report: WorkspaceReport, *, shrink: bool, quiet: bool) -> int:
    now, before = save_baseline(file, report, shrink=shrink)
    console = err()
    if not quiet:
        console.print(f"{file}: {now} findings, {before} before", soft_wrap=True)
    print_errors(console, report.errors)
    return UNREADABLE if report.errors else DONE


def _add_ignores(report: WorkspaceReport, reason: str) -> int:
    added = add_ignores(report.findings, report.sources, reason)
    errors = list(report.errors)
    written = 0
    for file in added.files:
        try:
            write_file(file)
        except SourceError as error:
            errors.append(FileError(error.path, error.line or 0, error.message))
        else:
            written += 1
    console = err()
    console.print(f"{added.silenced} findings suppressed in {written} files", soft_wrap=True)
    if added.missed:
        console.print("no comment can suppress:", soft_wrap=True)
        print_findings(console, added.missed, report.sources)
    print_errors(console, errors)
    if errors:
        return UNREADABLE
    return FINDINGS if added.missed else DONE
