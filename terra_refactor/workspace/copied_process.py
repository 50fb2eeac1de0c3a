"""Work in a copy of this process (`fork`): tasks that need all of a large state and return nothing.

Gives: `start_copy`, `CopiedProcess`, `Checkpoints`. Needs: Linux, a second processor, no threads except our own
waiting ones, and memory for both processes. Otherwise no copy is started, and the caller does the work itself, or
omits it. A copy shares the memory of this process until one of the two changes it, so it starts immediately, however
large the state is. It finishes even if this process is killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Final, NoReturn

from terra_refactor.workspace.watchdog import memory_for_analyses, resident_bytes

LOGGER = logging.getLogger(__name__)

_GROWTH: Final = 2.5
"""Maximum memory of both processes, as a multiple of that of this process: even reading writes reference counts in the copy."""


_OF_PROGRESS: Final = frozenset({"terra-progress"})
"""Our thread that displays progress; Rich has another one that draws it. They hold nothing that a copy needs."""
_WAITING: Final = _OF_PROGRESS | {"MainThread", "terra-watchdog", "terra-deep-stack"}
"""Our threads: while one of them works, the others wait for it or sleep, and hold nothing that a copy needs."""


class CopiedProcess:
    """A running copy."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._ended = False

    def wait(self) -> None:
        """Waits until it has finished."""
        if not self._ended:
            os.waitpid(self._process, 0)
            self._ended = True

    def has_ended(self) -> bool:
        """Whether it has finished."""
        if not self._ended:
            self._ended = os.waitpid(self._process, os.WNOHANG)[0] != 0
        return self._ended

    def end(self) -> None:
        """Kills it."""
        if not self._ended:
            os.kill(self._process, signal.SIGKILL)
        self.wait()


class Checkpoints:
    """Copies that save the finished contexts of a long analysis at intervals, in case it is killed."""

    def __init__(self, processors: int, every: float) -> None:
        """`every`: the interval in seconds of processor time."""
        self._processors = processors
        self._every = every
        self._last = time.process_time()
        self._copy: CopiedProcess | None = None

    def is_copy(self) -> bool:
        """Called by the analysis at points where it can be interrupted; True in a copy, which saves the finished
        contexts and exits.
        """
        if time.process_time() - self._last < self._every or (self._copy is not None and not self._copy.has_ended()):
            return False
        process = _fork(self._processors, _WAITING)
        self._last = time.process_time()
        self._copy = None if process is None or process == 0 else CopiedProcess(process)
        return process == 0

    def end(self) -> None:
        """Kills the running copy: its checkpoint would replace the entry of the finished analysis."""
        if self._copy is not None:
            self._copy.end()


def start_copy(work: Callable[[], object], processors: int) -> CopiedProcess | None:
    """Starts a copy of this process that does the work and exits; None if that is not possible."""
    process = _fork(processors, _OF_PROGRESS)
    if process == 0:
        end_copy(work)
    return None if process is None else CopiedProcess(process)


def end_copy(work: Callable[[], object]) -> NoReturn:
    """In a copy: does the work and exits, without flushing the buffers or running the clean-up of the main process."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        LOGGER.exception("a copy of this process failed")
    finally:
        os._exit(code)


def _fork(processors: int, waiting: frozenset[str]) -> int | None:
    """The id of a new copy, 0 in the copy itself; None if that is not possible. Threads with these names may exist."""
    if sys.platform != "linux" or processors < 2:
        return None
    present = threading.current_thread()
    others = (thread for thread in threading.enumerate() if thread is not present)
    if not all(thread.name in waiting or type(thread).__module__ == "rich.live" for thread in others):
        return None
    if resident_bytes() * _GROWTH > memory_for_analyses():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later warn about forks with threads
            process = os.fork()
    except OSError:  # no memory, or too many processes
        return None
    if process == 0:
        with contextlib.suppress(ValueError):  # only the first thread may do so
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles interrupts
    return process
