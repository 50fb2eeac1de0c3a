"""Watches files, and runs again whenever one changes.

Computes: the files and their modification times, repeatedly. Needs: paths and options. Gives: `watch_files`. It polls the file
system, which works on every platform and on network folders, and needs no further package. The interval grows with the cost of one
poll, so that a large repository is not polled all the time.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

from terra_refactor.cli.output import err
from terra_refactor.errors import UsageError
from terra_refactor.workspace.project import STDIN, discover_files
from terra_refactor.workspace.workspace import Options

PAUSE: Final = 0.5
"""Minimum number of seconds between two polls."""
_SHARE: Final = 10
"""Polling takes at most this fraction of the time: 1 / n."""

Sleep = Callable[[float], None]


def watch_files(paths: Sequence[str], options: Options, run: Callable[[], None], sleep: Sleep = time.sleep) -> NoReturn:
    """Calls `run` after each change of a file, until an interrupt (KeyboardInterrupt).

    Raises:
        UsageError: standard input is among the paths.
    """
    if STDIN in paths:
        raise UsageError("--watch: standard input cannot be watched")
    gc.enable()  # a long-running command
    console = err()
    seen = _times(paths, options)
    console.print("watching; Ctrl-C ends", style="dim")
    while True:
        started = time.monotonic()
        now = _times(paths, options)
        if now != seen:
            sleep(PAUSE / 5)  # an editor may write several files at once
            seen = _times(paths, options)
            if console.is_terminal:
                console.clear()
            try:
                run()
            except UsageError as error:  # a path that is missing for a moment, or an incomplete configuration
                console.print(f"error: {error}", soft_wrap=True)
            console.print("watching; Ctrl-C ends", style="dim")
        sleep(max(PAUSE, (time.monotonic() - started) * _SHARE))


def _times(paths: Sequence[str], options: Options) -> Mapping[str, tuple[int, int]]:
    """The modification time and size of each file."""
    times: dict[str, tuple[int, int]] = {}
    for path in discover_files(
        [path for path in paths if os.path.lexists(path)],
        options.config,
        options.exclude,
        follow_links=options.follow_links,
    ).files:
        try:
            status = os.stat(path)
        except OSError:
            continue  # deleted in between: the next poll notices
        times[path] = (status.st_mtime_ns, status.st_size)
    return times
