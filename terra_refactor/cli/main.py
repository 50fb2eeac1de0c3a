"""The command `terra-refactor`."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import logging
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperGroup

from terra_refactor import __version__
from terra_refactor.workspace.printable import printable

_COMMANDS: Final = {
    "analyze": ("analyze_command", "Show which functions should become graphs, and why."),
    "lint": ("lint_command", "Find code that fails, behaves differently or is slow as a graph."),
    "fix": ("fix_command", "Show the changes as a diff, or make them with --write."),
    "verify": ("verify_command", "Run the code before and after the changes, and compare."),
    "record": ("record_command", "Run a program and record types, calls and traces for --evidence."),
    "explain": ("explain_command", "Explain a rule or a family of rules."),
    "rules": ("rules_command", None),
    "batch": ("batch_command", "Analyse many repositories, and keep results in one file."),
    "cache": ("cache_app", None),
}
"""For each command: the name of its function, in the module of the same name, and its short help if that is not the
first sentence of the docstring.
"""


class _ByName(Mapping[str, Any]):
    """The commands. The module of a command is imported on use, so that a run does not wait for the imports of other commands."""

    def __getitem__(self, name: str) -> Any:
        attribute, short_help = _COMMANDS[name]
        found = getattr(importlib.import_module(f"terra_refactor.cli.{name}"), attribute)
        alone = found
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            alone.command(name, short_help=short_help)(found)
        command = typer.main.get_command(alone)
        command.name = name
        return command

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in _COMMANDS else default

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Commands(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("Any", _ByName())


app = typer.Typer(
    name="terra-refactor",
    cls=_Commands,
    help="Decides which TensorFlow 2 functions may safely run as graphs, and makes the change.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    """Options before a command."""


class _Printable(logging.Formatter):
    """Escapes messages, since they may quote paths with control sequences for terminals."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def main() -> None:
    """The entry point. Ends the process with an exit code of `exit_codes`."""
    logging.basicConfig(level=logging.ERROR)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Printable("%(message)s"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(io.UnsupportedOperation):
                stream.reconfigure(errors="backslashreplace", newline="")
    # A command ends before a garbage collection pays off, including the one at exit; long-running commands enable it
    # again.
    gc.disable()
    try:
        app(prog_name="terra-refactor")
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
