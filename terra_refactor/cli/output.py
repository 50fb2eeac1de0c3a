"""Output: consoles for standard output and standard error, and a progress bar for long runs on a terminal.

Gives: `out`, `err`, `emit`, `progress_callback`.

A report goes to standard output or to a file, everything about the run to standard error. There are no colours on a
pipe or with NO_COLOR.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from terra_refactor.config import check_inside, is_inside, repository_of
from terra_refactor.errors import UsageError
from terra_refactor.workspace.printable import printable, unlike_command
from terra_refactor.workspace.writing import write_whole

PIPE_WIDTH = 120
"""Width of tables that are not printed on a terminal."""
_PATIENCE = 1.0
"""Seconds before a progress bar is shown."""


class _HarmlessConsole(Console):
    """A console that escapes text from a repository, so that it cannot control the terminal or the runner of a GitHub
    workflow.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of text to print, without Rich's control segments."""
        in_workflow = os.environ.get("GITHUB_ACTIONS") == "true"
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            text = printable(segment.text)
            yield segment._replace(text=unlike_command(text) if in_workflow else text)


def out() -> Console:
    """Standard output."""
    return _console(sys.stdout)


def err() -> Console:
    """Standard error."""
    return _console(sys.stderr)


def say_that_code_runs(*, quiet: bool) -> None:
    """Warns that code will run; only for commands that verify."""
    if not quiet:
        err().print(
            "note: verifying runs the code under the given paths, in a copy, with your permissions", soft_wrap=True
        )


def to_string(show: Callable[[Console], None]) -> str:
    """Printed output as plain text."""
    buffer = StringIO()
    show(Console(file=buffer, width=PIPE_WIDTH, highlight=False, emoji=False, markup=False, color_system=None))
    return buffer.getvalue()


def emit(text: str, output: str | None) -> None:
    """Writes a finished report to a file atomically, or to standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if os.path.exists(output) and not os.path.isfile(output):
        _emit_to_device(text, output)
        return
    repository = repository_of(".")
    if is_inside(os.path.abspath(output), str(repository)):
        check_inside(
            output, repository, "--output"
        )  # the name is the user's, but a link of that name may belong to anybody
    try:
        write_whole(Path(output), text)
    except OSError as error:
        raise UsageError(f"--output: {output} cannot be written: {error.strerror or error}") from error


def _emit_to_device(text: str, output: str) -> None:
    """Writes to a pipe or a device, which must not be replaced."""
    try:
        with open(output, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"--output: {output} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def progress_callback(*, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A callback that shows progress after `_PATIENCE` seconds; None if it would not be shown.

    FORCE_COLOR colours piped output, but does not draw a progress bar into a log.
    """
    console = err()
    if quiet or not console.file.isatty() or console.is_dumb_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn  # noqa: PLC0415

    class SinceStart(ProgressColumn):
        """The time since the start; Rich's own column stops when a stage is complete."""

        def render(self, task: Task) -> Text:
            return Text(str(timedelta(seconds=int(task.elapsed or 0))), style="progress.elapsed")

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        SinceStart(),
        console=console,
        transient=True,
    )
    task = bar.add_task("reading", total=None)
    lock = threading.Lock()
    ended = False

    def show() -> None:
        with lock:
            if not ended:
                bar.start()

    def tell(stage: str, done: int, total: int) -> None:
        bar.update(task, description=stage, completed=done, total=total)

    # A timer, not the next call of `tell`: there is none while `verify` runs the program, or while one large file is
    # read.
    timer = threading.Timer(_PATIENCE, show)
    timer.daemon, timer.name = True, "terra-progress"
    timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        with lock:
            ended = True
        bar.stop()


def _console(stream: object) -> Console:
    console = _HarmlessConsole(file=stream, highlight=False, emoji=False, markup=False)  # type: ignore[arg-type]
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console
