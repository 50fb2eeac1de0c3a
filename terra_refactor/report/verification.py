"""Results of `verify` as text and as JSON.

Needs: a `VerifyReport`. Gives: `print_verification`, and `verification_json`, whose form is `verification/1`; fields
are only ever added. Times are in seconds; a field is null if nothing was measured.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from terra_refactor import __version__
from terra_refactor.report.indented import indented_json
from terra_refactor.verify.verdict import FunctionVerdict, Status, Timing
from terra_refactor.workspace.results import VerifyReport

_SCHEMA: Final = "terra-refactor/verification/1"
_STYLES: Final = {
    Status.SAME: "green",
    Status.DIFFERENT: "bold red",
    Status.FAILS: "bold red",
    Status.SLOWER: "yellow",
    Status.NOT_REACHED: "dim",
}


def print_verification(console: Console, report: VerifyReport, *, verbose: bool = False) -> None:
    """A line for each function, the first difference beneath it, then the program, then the summary."""
    verification = report.verification
    for verdict in verification.functions:
        line = Text.assemble(
            (f"{verdict.path}:{verdict.line}: ", "dim"),
            (verdict.qualname, "bold"),
            "  ",
            (verdict.status.value, _STYLES[verdict.status]),
        )
        if verdict.compared:
            line.append(f"  {verdict.compared} call{'s' if verdict.compared != 1 else ''} compared", style="dim")
        if verdict.speedup is not None:
            line.append(f", {verdict.speedup:.1f}× as fast", style="dim")
        console.print(line, soft_wrap=True)
        if verdict.detail:
            console.print(Text(f"    {verdict.detail}"), soft_wrap=True)
        if verbose:
            console.print(
                Text(f"    before: {_said(verdict.before)}; after: {_said(verdict.after)}", style="dim"), soft_wrap=True
            )
    program = verification.program
    if program is not None:
        said = "the same" if program.difference is None else f"different: {program.difference}"
        style = "green" if program.difference is None else "bold red"
        console.print(Text.assemble((program.command, "bold"), "  ", (said, style)), soft_wrap=True)
    counts = Counter(verdict.status for verdict in verification.functions)
    console.print(
        "There are no changes, so there is nothing to verify."
        if not verification.functions
        else ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) + "."
    )


def verification_json(report: VerifyReport) -> str:
    """The complete JSON; ends in a newline."""
    verification = report.verification
    program = verification.program
    counts = Counter(verdict.status for verdict in verification.functions)
    data = {
        "schema": _SCHEMA,
        "tool": {"name": "terra-refactor", "version": __version__},
        "tensorflow": verification.tensorflow,
        "functions": [_function(verdict) for verdict in verification.functions],
        "program": None
        if program is None
        else {
            "command": program.command,
            "difference": program.difference,
            "exit_codes": list(program.exit_codes),
            "seconds": list(program.seconds),
            "cpu": list(program.cpu),
        },
        "errors": [
            {"path": error.path, "line": error.line or None, "message": error.message}
            for error in report.fixed.report.errors
        ],
        "summary": {status.value.replace(" ", "_"): counts[status] for status in Status},
    }
    return indented_json(data) + "\n"


def _function(verdict: FunctionVerdict) -> dict[str, Any]:
    return {
        "path": verdict.path,
        "qualname": verdict.qualname,
        "line": verdict.line,
        "action": verdict.action.value,
        "status": verdict.status.value,
        "detail": verdict.detail,
        "compared": verdict.compared,
        "before": _timing(verdict.before),
        "after": _timing(verdict.after),
        "speedup": None if verdict.speedup is None else round(verdict.speedup, 3),
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "calls": timing.calls,
        "median": timing.median,
        "tracing": round(timing.tracing, 6),
        "traces": timing.traces,
    }


def _said(timing: Timing) -> str:
    median = "no time" if timing.median is None else f"{timing.median * 1e6:,.0f} µs a call"
    traced = "" if timing.traces is None else f", {timing.traces} traces in {timing.tracing:.2f} s"
    return f"{timing.calls} calls, {median}{traced}"
