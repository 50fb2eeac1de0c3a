"""State of one thread: the run it is in, and the tapes that really record.

Computes: nothing. Needs: nothing. Gives: `thread`, one object whose attributes differ per thread; `hooks`; `forked`.
Ignores: everything about TensorFlow.
"""

from __future__ import annotations

import threading
from typing import Any


class _ThreadState(threading.local):
    """Attributes: `run` (the active Run or None), `tapes` (GradientTapes that really record, outermost first; all of them, if
    `generation` is that of the hooks), `accumulators` (how many forward accumulators record)."""

    run: Any = None
    accumulators: int = 0
    generation: int = 0

    def __init__(self) -> None:
        self.tapes: list[Any] = []


class _Hooks:
    """Attributes: `installed` (whether TensorFlow's API is hooked), `generation` (how often its hooks were taken away: tapes
    that were entered in between are unknown)."""

    installed = False
    generation = 0


thread = _ThreadState()
hooks = _Hooks()
forked: list[bool] = []  # not empty in a process that was forked while the shim was in use
