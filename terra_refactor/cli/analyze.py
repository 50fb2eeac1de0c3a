"""`analyze`: classify every function under the paths."""

from __future__ import annotations

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, UNREADABLE
from terra_refactor.cli.options import (
    Baseline,
    ConfigFile,
    Exclude,
    Format,
    Ignore,
    Jobs,
    MinOps,
    NoCache,
    Output,
    Paths,
    Quiet,
    Select,
    StdinFilename,
    TfVersion,
    Verbose,
    check_format,
    make_options,
    read_config,
)
from terra_refactor.cli.output import emit, out, progress_bar, to_string
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_github import to_github
from terra_refactor.report.to_json import to_json
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
    exclude: Exclude = None,
    baseline: Baseline = None,
    jobs: Jobs = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    stdin_filename: StdinFilename = None,
    min_ops: MinOps = None,
    tf_version: TfVersion = None,
) -> int:
    """Classify every function: may it run as a graph, does it pay, and what should be done."""
    check_format(format, ("text", "json", "github"))
    settings = read_config(
        paths,
        config=config,
        select=select,
        ignore=ignore,
        baseline=baseline,
        jobs=jobs,
        min_ops=min_ops,
        tf_version=tf_version,
    )
    with progress_bar(quiet=quiet) as progress:
        options = make_options(
            paths, settings, exclude=exclude, no_cache=no_cache, stdin_filename=stdin_filename, progress=progress
        )
        report = analyze(paths, options)
    if format == "json":
        emit(to_json(build_report(report)), output)
    elif format == "github":
        emit(to_github(build_report(report)), output)
    elif output is not None:
        emit(to_string(lambda console: print_analysis(console, report, verbose=verbose)), output)
    else:
        print_analysis(out(), report, verbose=verbose)
    return UNREADABLE if report.errors else DONE
