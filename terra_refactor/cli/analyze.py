"""`analyze`: classify every function under the paths."""

from __future__ import annotations

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, UNREADABLE
from terra_refactor.cli.options import (
    Baseline,
    ConfigFile,
    DiffBase,
    Exclude,
    Format,
    Ignore,
    Isolated,
    Jobs,
    MinOps,
    NoCache,
    Output,
    Paths,
    Quiet,
    Select,
    ShowSettings,
    StdinFilename,
    TfVersion,
    Verbose,
    make_options,
    read_config,
    show_settings,
)
from terra_refactor.cli.output import progress_bar
from terra_refactor.cli.reporting import read_targets, write_reports
from terra_refactor.report.to_text import print_analysis
from terra_refactor.workspace.workspace import analyze


@guarded
def analyze_command(
    paths: Paths,
    *,
    format: Format = "text",  # noqa: A002 - the option's name
    output: Output = None,
    select: Select = None,
    ignore: Ignore = None,
    config: ConfigFile = None,
    isolated: Isolated = False,
    show_settings_only: ShowSettings = False,
    exclude: Exclude = None,
    baseline: Baseline = None,
    diff_base: DiffBase = None,
    jobs: Jobs = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    stdin_filename: StdinFilename = None,
    min_ops: MinOps = None,
    tf_version: TfVersion = None,
) -> int:
    """Classify every function: may it run as a graph, does it pay, and what should be done."""
    targets = read_targets(format, output)
    settings = read_config(
        paths,
        config=config,
        select=select,
        ignore=ignore,
        baseline=baseline,
        jobs=jobs,
        min_ops=min_ops,
        tf_version=tf_version,
        isolated=isolated,
    )
    if show_settings_only:
        return show_settings(settings)
    with progress_bar(quiet=quiet) as progress:
        options = make_options(
            paths,
            settings,
            exclude=exclude,
            no_cache=no_cache,
            stdin_filename=stdin_filename,
            progress=progress,
            diff_base=diff_base,
        )
        report = analyze(paths, options)
    write_reports(targets, report, lambda console: print_analysis(console, report, verbose=verbose))
    return UNREADABLE if report.errors else DONE
