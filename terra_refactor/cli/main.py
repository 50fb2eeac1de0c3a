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
)
app.command("analyze")(analyze_command)
app.command("lint")(lint_command)
app.command("fix")(fix_command)
app.command("verify")(verify_command)
app.command("explain")(explain_command)
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
