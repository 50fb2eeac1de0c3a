"""`fix`: applies the refactorings, or shows them as a diff."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, FINDINGS, INTERRUPTED, UNREADABLE
from terra_refactor.cli.groups import grouped
from terra_refactor.cli.interactive import choose
from terra_refactor.cli.options import (
    Format,
    Functions,
    Ignore,
    LevelOption,
    MinOps,
    Output,
    Paths,
    RunOptions,
    Select,
    VerifyOptions,
    show_settings,
)
from terra_refactor.cli.output import err, progress_callback, say_that_code_runs
from terra_refactor.cli.reporting import TEXT, coverage_for, read_targets, warn_of_nothing, write_reports
from terra_refactor.errors import SourceError, UsageError
from terra_refactor.refactor.apply import is_written, write_file
from terra_refactor.report.to_text import print_changes, print_diff, print_errors
from terra_refactor.syntax.edit import unified_diff
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.project import STDIN
from terra_refactor.workspace.results import FileError, FixReport
from terra_refactor.workspace.workspace import MAX_ROUNDS, fix, fix_verified

WriteOption = Annotated[bool, typer.Option("--write", help="Write the changes into the files.")]
Diff = Annotated[bool, typer.Option("--diff", help="Print a unified diff and write nothing (the default).")]
CheckOnly = Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if something would change.")]

Verify = Annotated[
    bool, typer.Option("--verify", help="Run both versions first; make only changes that give the same results.")
]
Interactive = Annotated[
    bool,
    typer.Option("--interactive", "-i", help="Show each change with its reason, ask, and write the accepted ones."),
]


@guarded
@grouped
def fix_command(
    paths: Paths,
    *,
    level: LevelOption = None,
    function: Functions = None,
    select: Select = None,
    ignore: Ignore = None,
    write: WriteOption = False,
    diff: Diff = False,
    check: CheckOnly = False,
    interactive: Interactive = False,
    verify: Verify = False,
    how: VerifyOptions,
    format: Format = "text",  # noqa: A002 - the option's name
    output: Output = None,
    min_ops: MinOps = None,
    run: RunOptions,
) -> int:
    """Add, remove and tune tf.function where that keeps the meaning and pays; print a diff unless --write is given.

    With --select, make only changes that remove findings of these rules.
    """
    targets = read_targets(format, output)
    if write and (diff or check):
        raise UsageError(f"--write: cannot be combined with {'--diff' if diff else '--check'}, which writes nothing")
    if verify and (interactive or select is not None):
        raise UsageError(f"--verify: cannot be combined with {'--interactive' if interactive else '--select'}")
    if interactive and (write or diff or check):
        raise UsageError("--interactive: cannot be combined with --write, --diff or --check; it asks, then writes")
    if (write or interactive) and STDIN in paths:
        raise UsageError(
            f"{'--write' if write else '--interactive'}: standard input cannot be written to; --diff prints the changes"
        )
    if not verify and how.are_given:
        raise UsageError("--run, --pytest, --python, --timeout and --memory: require --verify")
    setting = how.setting()
    settings = run.settings(paths, select=select, ignore=ignore, min_ops=min_ops, level=level)
    if run.show_settings:
        return show_settings(settings)
    settings = replace(settings, baseline=None)  # known findings are fixed, too
    if verify:
        say_that_code_runs(quiet=run.quiet)
    with progress_callback(quiet=run.quiet) as progress:
        options = run.options(
            paths, settings, progress, coverage=AnalysedFiles.EVERY if function else coverage_for(targets)
        )
        if verify:
            fixed = fix_verified(paths, options, setting, function or ()).fixed
        else:
            fixed = fix(
                paths, options, function or (), of_findings=select is not None, rounds=1 if interactive else MAX_ROUNDS
            )
    if interactive:
        fixed = choose(fixed, settings, err())
        write = True
    if (write or check) and not diff:
        targets = tuple(target for target in targets if target.format != TEXT)
    write_reports(targets, fixed.report, lambda console: _show_diff(console, fixed))
    warn_of_nothing(fixed.report)
    written: list[str] = []
    errors = list(fixed.report.errors)
    if write:
        try:
            _write_all(fixed, written, errors)
        except KeyboardInterrupt:
            _say_what_was_written(err(), fixed)
            return INTERRUPTED
    console = err()
    if not run.quiet:
        print_changes(console, fixed, written=frozenset(written), verbose=run.verbose)
    print_errors(console, errors)
    if errors:
        return UNREADABLE
    return FINDINGS if check and any(file.changed for file in fixed.files) else DONE


def _write_all(fixed: FixReport, written: list[str], errors: list[FileError]) -> None:
    """Writes the files one after the other; one that cannot be written is an error and affects nothing else."""
    for file in fixed.files:
        if file.changed:
            try:
                write_file(file)
            except SourceError as error:
                errors.append(FileError(error.path, error.line or 0, error.message))
            else:
                written.append(file.source.path)


def _say_what_was_written(console: Console, fixed: FixReport) -> None:
    """Determined from the files: an interrupt may occur between writing one and recording it."""
    changed = [file for file in fixed.files if file.changed]
    written = [file.source.path for file in changed if is_written(file)]
    left = [file.source.path for file in changed if file.source.path not in written]
    console.print(f"interrupted: {len(written)} written, {len(left)} not; no file is half written", soft_wrap=True)
    for path in written:
        console.print(f"  written      {path}", soft_wrap=True)
    for path in left:
        console.print(f"  not written  {path}", soft_wrap=True)


def _show_diff(console: Console, fixed: FixReport) -> None:
    """The unified diff of all files. For a notebook it is the diff of the text of its code cells."""
    for file in fixed.files:
        if file.changed:
            print_diff(console, unified_diff(file.source.path, file.source.text, file.new_text))
