"""Work that a copy of this process does at the same time: what needs all of a large state, and gives nothing back.

Gives: `start_copy`, `CopiedProcess`. Needs: Linux, a second processor, no other thread, and memory for both. Without these nothing is
started, and the caller does the work itself. A copy shares the memory of this process until one of the two changes it, so it starts at
once, however large the state is.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Final

from terra_refactor.workspace.watchdog import memory_for_analyses, resident_bytes

LOGGER = logging.getLogger(__name__)

_GROWTH: Final = 2.5
"""How much memory both may have together, as a multiple of what this process has now: the copy writes what it reads (reference counts)."""


class CopiedProcess:
    """A copy that is at work."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._ended = False

    def wait(self) -> None:
        """Wait until it has done its work."""
        if not self._ended:
            os.waitpid(self._process, 0)
            self._ended = True

    def end(self) -> None:
        """End it, whatever it has done."""
        if not self._ended:
            os.kill(self._process, signal.SIGKILL)
        self.wait()


def start_copy(work: Callable[[], object], processors: int) -> CopiedProcess | None:
    """Start a copy of this process that does the work and ends; None if there can be none."""
    if sys.platform != "linux" or processors < 2 or threading.active_count() > 1:
        return None
    if resident_bytes() * _GROWTH > memory_for_analyses():
        return None
    try:
        process = os.fork()
    except OSError:  # no memory, or too many processes
        return None
    if process:
        return CopiedProcess(process)
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the main process's business
        work()
        code = 0
    except BaseException:
        LOGGER.exception("a copy of this process failed")
    finally:
        # nothing of the main process is done twice: what it has still to write, or to clean up
        os._exit(code)
