"""What belongs to one thread: the run it is in, and the tapes that really record.

Computes: nothing. Needs: nothing. Gives: `thread`, one object whose attributes differ per thread; `hooks`; `forked`.
Ignores: everything about TensorFlow.
"""

from __future__ import annotations

import threading
from typing import Any


class _ThreadState(threading.local):
    """Attributes: `run` (the active Run or None), `tapes` (GradientTapes that really record, outermost first),
    `accumulators` (how many forward accumulators record)."""

    run: Any = None
    accumulators: int = 0

    def __init__(self) -> None:
        self.tapes: list[Any] = []


class _Hooks:
    """Attributes: `installed` (whether TensorFlow's API is hooked)."""

    installed = False


thread = _ThreadState()
hooks = _Hooks()
forked: list[bool] = []  # not empty in a process that was forked while the shim was in use
