"""`lint`: the findings, as a linter prints them."""

from __future__ import annotations

from rich.console import Console

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, FINDINGS, UNREADABLE
from terra_refactor.cli.options import (
    Baseline,
    ConfigFile,
    Exclude,
    Format,
    Ignore,
    Jobs,
    NoCache,
    Output,
    Paths,
    Quiet,
    Select,
    StdinFilename,
    TfVersion,
    Verbose,
    make_options,
    read_config,
)
from terra_refactor.cli.output import progress_bar
from terra_refactor.cli.reporting import read_targets, write_reports
from terra_refactor.report.to_text import print_errors, print_findings, print_findings_summary
from terra_refactor.workspace.workspace import analyze


@guarded
def lint_command(
    paths: Paths,
    *,
    format: Format = "text",  # noqa: A002 - the option's name
    output: Output = None,
    select: Select = None,
    ignore: Ignore = None,
    config: ConfigFile = None,
    exclude: Exclude = None,
    baseline: Baseline = None,
    jobs: Jobs = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    stdin_filename: StdinFilename = None,
    tf_version: TfVersion = None,
) -> int:
    """Find what fails, differs or is slow as a graph, and shapes that cannot work."""
    targets = read_targets(format, output)
    settings = read_config(
        paths, config=config, select=select, ignore=ignore, baseline=baseline, jobs=jobs, tf_version=tf_version
    )
    with progress_bar(quiet=quiet) as progress:
        options = make_options(
            paths, settings, exclude=exclude, no_cache=no_cache, stdin_filename=stdin_filename, progress=progress
        )
        report = analyze(paths, options)

    def show(console: Console) -> None:
        print_findings(console, report.findings, report.sources, verbose=verbose)
        print_errors(console, report.errors)
        if not quiet:
            print_findings_summary(console, report.findings)

    write_reports(targets, report, show)
    if report.errors:
        return UNREADABLE
    return FINDINGS if report.findings else DONE
