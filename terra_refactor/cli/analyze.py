"""`analyze`: classify every function under the paths."""

from __future__ import annotations

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, UNREADABLE
from terra_refactor.cli.groups import grouped
from terra_refactor.cli.options import (
    BaselineOption,
    DiffBase,
    EveryFunction,
    Format,
    Ignore,
    MinOps,
    Output,
    Paths,
    RunOptions,
    Select,
    show_settings,
)
from terra_refactor.cli.output import progress_callback
from terra_refactor.cli.reporting import TEXT, read_targets, warn_of_nothing, write_reports
from terra_refactor.report.to_text import print_analysis
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.workspace import analyze


@guarded
@grouped
def analyze_command(
    paths: Paths,
    *,
    format: Format = "text",  # noqa: A002 - the option's name
    output: Output = None,
    select: Select = None,
    ignore: Ignore = None,
    baseline: BaselineOption = None,
    diff_base: DiffBase = None,
    min_ops: MinOps = None,
    every_function: EveryFunction = False,
    run: RunOptions,
) -> int:
    """Show which functions should become graphs, the largest gain first, and what prevents others."""
    targets = read_targets(format, output)
    settings = run.settings(paths, select=select, ignore=ignore, baseline=baseline, min_ops=min_ops)
    if run.show_settings:
        return show_settings(settings)
    is_for_a_person = not run.verbose and not every_function and all(target.format == TEXT for target in targets)
    coverage = AnalysedFiles.SHOWN if is_for_a_person else AnalysedFiles.EVERY
    with progress_callback(quiet=run.quiet) as progress:
        report = analyze(paths, run.options(paths, settings, progress, diff_base=diff_base, coverage=coverage))
    write_reports(
        targets,
        report,
        lambda console: print_analysis(console, report, verbose=run.verbose, every_function=every_function),
    )
    warn_of_nothing(report)
    return UNREADABLE if report.errors else DONE
