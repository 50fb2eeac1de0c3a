"""The command `terra-refactor`."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from typing import Annotated

import typer

from terra_refactor import __version__
from terra_refactor.cli.analyze import analyze_command
from terra_refactor.cli.batch import batch_command
from terra_refactor.cli.cache import cache_app
from terra_refactor.cli.explain import explain_command
from terra_refactor.cli.fix import fix_command
from terra_refactor.cli.lint import lint_command
from terra_refactor.cli.rules import rules_command
from terra_refactor.cli.verify import verify_command

app = typer.Typer(
    name="terra-refactor",
    help="Decides which TensorFlow 2 functions may safely run as graphs, and makes the change.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze", short_help="Classify every function.")(analyze_command)
app.command("lint", short_help="Find what fails, differs or is slow as a graph.")(lint_command)
app.command("fix", short_help="Make the changes, or show them.")(fix_command)
app.command("verify", short_help="Run the code before and after, and compare.")(verify_command)
app.command("explain", short_help="Say what a rule means.")(explain_command)
app.command("rules")(rules_command)
app.command("batch")(batch_command)
app.add_typer(cache_app, name="cache")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"terra-refactor {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before a command."""


def main() -> None:
    """The entry point. Ends the process with an exit code of `exit_codes`."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(io.UnsupportedOperation):
                stream.reconfigure(errors="backslashreplace", newline="")
    app(prog_name="terra-refactor")


if __name__ == "__main__":
    main()
