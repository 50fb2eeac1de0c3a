"""Delays signals while TensorFlow builds a graph.

Computes: nothing. Needs: Python's handlers of signals. Gives: `held`.
Ignores: other threads (Python runs handlers on the main thread only), and handlers that were not set from Python.

TensorFlow's Python code acquires locks without `try`/`finally` (`GroupLock.release`), so that an exception from a
handler, such as KeyboardInterrupt, leaves a lock acquired forever: the next addition to that graph deadlocks. Eager
execution builds no graphs. When the shim builds one, handlers run as soon as it is finished.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class held:  # noqa: N801  (a context manager, read as a word)
    """Delays signal handlers in a block; they run in order at its end."""

    __slots__ = ("_came", "_handlers")

    def __init__(self) -> None:
        self._handlers: list[tuple[int, Any]] = []
        self._came: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers.append((number, handler))
                    signal.signal(number, self._note)
        except BaseException:
            self._give_back()
            raise

    def _note(self, number: int, _: FrameType | None) -> None:
        self._came.append((dict(self._handlers)[number], number))

    def _give_back(self) -> None:
        try:
            self._restore()
        finally:  # a signal whose handler was already restored
            self._restore()

    def _restore(self) -> None:
        while self._handlers:
            number, handler = self._handlers[-1]
            if signal.getsignal(number) == self._note:  # or the block set another one
                signal.signal(number, handler)
            self._handlers.pop()

    def __exit__(self, *_: object) -> None:
        self._give_back()
        while self._came:
            handler, number = self._came.pop(0)
            handler(number, None)
