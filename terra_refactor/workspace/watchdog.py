"""The last safeguard: ends an analysis that escapes all budgets, so that it affects only its own files.

Computes: the result of a function, unless it exceeds limits of processor time or memory. Needs: limits far above
normal use, since what exceeds them depends on the machine. Gives: `watched`, `ProcessLimits`, `OverLimitError`.
Ignores: native code that never returns to Python (the parser: `pool.py` gives it processes that can be killed).

A second thread watches the clock and the memory, and raises an exception in the working thread. It is not derived
from `Exception`, so that no handler treats it as the failure of one function.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from terra_refactor.syntax.deep_stack import working_thread

_T = TypeVar("_T")

_SECONDS, _SECONDS_OF_A_LINE = 30.0, 0.02
"""Limits of an analysis: twenty times its usual amount, plus a constant."""
_MEMORY_SHARE: Final = 0.6
_LOOK_EVERY: Final = 0.25
_AGAIN_AFTER: Final = 2.0
"""Seconds after which the exception is raised again: code that no exception can leave (a finalizer) swallows it."""


class OverLimitError(Exception):
    """The watched analysis was ended. `of_memory`: because of its memory, not its time."""

    def __init__(self, reason: str, *, of_memory: bool = False) -> None:
        super().__init__(reason)
        self.of_memory = of_memory


class _Ended(BaseException):
    """Raised in the working thread by the watching one."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Maximum processor time in seconds, and maximum resident memory in bytes."""

    seconds: float
    memory: int

    @staticmethod
    def of(lines: int, processes: int = 1) -> ProcessLimits:
        """The limits of an analysis of `lines` lines, if that many processes run analyses at the same time."""
        return ProcessLimits(_SECONDS + _SECONDS_OF_A_LINE * lines, memory_for_analyses() // processes)


def watched(function: Callable[[], _T], limits: ProcessLimits) -> _T:
    """Calls the function.

    Raises:
        OverLimitError: it exceeded a limit, and was ended.
    """
    watch = _Watch(limits)
    try:
        try:
            return function()
        finally:
            watch.end()
    except _Ended:
        pass
    watch.end()  # the exception may have been raised while the watch was being ended
    gc.collect()  # the objects of the analysis form reference cycles
    raise OverLimitError(watch.reason, of_memory=watch.of_memory)


class _Watch:
    def __init__(self, limits: ProcessLimits) -> None:
        self.reason = ""
        self.of_memory = False
        self._limits = limits
        self._thread = threading.get_ident()
        self._started = time.process_time()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._watcher = threading.Thread(target=self._run, name="terra-watchdog", daemon=True)
        self._watcher.start()

    def end(self) -> None:
        """Stops raising exceptions; called in the watched thread."""
        with self._lock:
            self._over.set()
        self._watcher.join()  # a process can be forked only without other threads
        if self.reason:
            _take_in()

    def _run(self) -> None:
        pause = _LOOK_EVERY
        while not self._over.wait(pause):
            reason = self._why()
            if reason:
                with self._lock:
                    if not self._over.is_set():
                        self.reason = reason
                        _raise_in(working_thread(self._thread), _Ended)
                        pause = _AGAIN_AFTER

    def _why(self) -> str:
        if time.process_time() - self._started > self._limits.seconds:
            return f"it took more than {self._limits.seconds:.0f} seconds"
        if resident_bytes() > self._limits.memory:
            self.of_memory = True
            return f"it took more than {self._limits.memory / 2**30:.1f} GiB of memory"
        return ""


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _take_in() -> None:
    """Receives an exception that is still pending for this thread, or for one that has ended.

    If it were cancelled, the interpreter would check for it forever: every frame would be slower, and in CPython 3.11
    a traced or profiled one would never start.
    """
    try:
        _raise_in(threading.get_ident(), _Ended)
        while True:
            pass
    except _Ended:
        pass


def resident_bytes() -> int:
    """The memory of the process; 0 if the system does not report it."""
    if sys.platform != "linux":
        return 0
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def memory_for_analyses() -> int:
    """The memory that all analyses on this machine may use together, in bytes."""
    return int(_MEMORY_SHARE * _memory_of_machine())


def _memory_of_machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 8 << 30
