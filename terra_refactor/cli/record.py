"""`record`: runs a program, and writes the types with which its functions were called."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.output import emit, err
from terra_refactor.errors import UsageError
from terra_refactor.record.launch import run_recorded
from terra_refactor.record.record_file import FunctionSeen, Record, record_to_json
from terra_refactor.workspace.printable import printable

_SHOWN = 5


@guarded
def record_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...",
            help="python SCRIPT ..., python -m MODULE ..., or a Python script such as pytest.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the record.")
    ] = "terra-record.json",
    root: Annotated[
        str, typer.Option("--root", metavar="FOLDER", help="Record the functions of files below this folder.")
    ] = ".",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> int:
    """Run a program, and record types, calls, times and traces for --evidence; exit with the program's code."""
    if not os.path.isdir(root):
        raise UsageError(f"--root: no such folder: {root}")
    if not quiet:
        err().print("note: recording runs the program, with your permissions", soft_wrap=True)
    recorded = run_recorded(command or [], root, output)
    sys.stdout.flush()
    emit(record_to_json(recorded.record), output)
    if not quiet:
        for line in summary(recorded.record, output):
            err().print(printable(line), soft_wrap=True)
    return recorded.exit_code


def summary(record: Record, output: str) -> list[str]:
    """A summary of the run in a few lines."""
    traced = [each for each in record.functions if each.graph is not None and each.graph.traces]
    traces = sum(each.graph.traces for each in traced if each.graph is not None)
    lines = [
        f"{output}: {_plural(len(record.functions), 'function')} of {_plural(len(record.files), 'file')} in {record.seconds:.1f} s; "
        f"{_plural(traces, 'trace')} of {_plural(len(traced), 'tf.function')}"
    ]
    lines += [f"warning: {notice}" for notice in record.notices]
    if not record.complete:
        lines.append("warning: a process ended abnormally; its last seconds may be missing from the record")
    again = sorted((each for each in traced if _retraces(each) > 1), key=_retraces, reverse=True)
    for each in again[:_SHOWN]:
        assert each.graph is not None
        lines.append(
            f"  {each.path}:{each.line} {each.qualname}: traced {each.graph.traces} times in {each.graph.calls} calls, "
            f"{each.graph.tracing_seconds:.1f} s"
        )
    return lines


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _retraces(function: FunctionSeen) -> int:
    return 0 if function.graph is None else function.graph.traces - function.graph.objects
