"""State of one thread: the run it is in, and the tapes that really record.

Computes: nothing. Needs: nothing. Gives: `thread`, one object whose attributes differ per thread; `hooks`; `forked`.
Ignores: everything about TensorFlow.
"""

from __future__ import annotations

import threading
from typing import Any


class _ThreadState(threading.local):
    """Attributes: `run` (the active Run or None), `tapes` (GradientTapes that were really entered, outermost first; all that
    record, if `generation` is that of the hooks), `accumulators` (how many forward accumulators record)."""

    run: Any = None
    accumulators: int = 0
    generation: int = 0

    def __init__(self) -> None:
        self.tapes: list[Any] = []

    def recording(self) -> list[Any]:
        """The tapes that really record, always in the same list.

        Whether a tape does is what its own flag says: an interruption between leaving it and taking it off the list keeps it
        there. To stop and start such a tape, as around the making of a graph, would begin a recording that nothing ends.
        """
        tapes = self.tapes
        if tapes and not all(tape._recording for tape in tapes):
            tapes[:] = [tape for tape in tapes if tape._recording]
        return tapes


class _Hooks:
    """Attributes: `installed` (whether TensorFlow's API is hooked), `generation` (how often its hooks were taken away: tapes
    that were entered in between are unknown)."""

    installed = False
    generation = 0


thread = _ThreadState()
hooks = _Hooks()
forked: list[bool] = []  # not empty in a process that was forked while the shim was in use
