"""`verify`: run the original and the refactored functions, and compare."""

from __future__ import annotations

from typing import Annotated

import typer

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, FINDINGS, UNREADABLE
from terra_refactor.cli.groups import grouped
from terra_refactor.cli.options import Functions, LevelOption, MinOps, Paths, RunOptions, VerifyOptions, show_settings
from terra_refactor.cli.output import emit, err, out, progress_callback, say_that_code_runs, to_string
from terra_refactor.errors import UsageError
from terra_refactor.report.to_text import print_errors
from terra_refactor.report.verification import print_verification, verification_json
from terra_refactor.workspace.project import STDIN
from terra_refactor.workspace.workspace import verify

_FORMATS = ("text", "json")
VerifyFormat = Annotated[str, typer.Option("--format", metavar="FORMAT", help="text or json.")]
VerifyOutput = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="Write the report to this file instead of printing it.")
]


@guarded
@grouped
def verify_command(
    paths: Paths,
    *,
    level: LevelOption = None,
    function: Functions = None,
    how: VerifyOptions,
    format: VerifyFormat = "text",  # noqa: A002 - the option's name
    output: VerifyOutput = None,
    min_ops: MinOps = None,
    run: RunOptions,
) -> int:
    """Run every function that `fix` would change, before and after, on the same inputs, and compare.

    Runs the code under the paths; needs TensorFlow.
    """
    if format not in _FORMATS:
        raise UsageError(f"--format: unknown format `{format}`; choose from {', '.join(_FORMATS)}")
    if STDIN in paths:
        raise UsageError("verify: standard input cannot be run; give a file")
    setting = how.setting()
    settings = run.settings(paths, min_ops=min_ops, level=level)
    if run.show_settings:
        return show_settings(settings)
    say_that_code_runs(quiet=run.quiet)
    with progress_callback(quiet=run.quiet) as progress:
        report = verify(paths, run.options(paths, settings, progress), setting, function or ())
    if format == "json":
        emit(verification_json(report), output)
    elif output is not None:
        emit(to_string(lambda console: print_verification(console, report, verbose=run.verbose)), output)
    else:
        print_verification(out(), report, verbose=run.verbose)
    errors = report.fixed.report.errors
    print_errors(err(), errors)
    if report.verification.differs:
        return FINDINGS
    return UNREADABLE if errors else DONE
