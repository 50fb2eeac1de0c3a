"""State of one thread: the run it is in, and the tapes that really record.

Computes: nothing. Needs: nothing. Gives: `thread`, one object whose attributes differ per thread; `hooks`; `forked`.
Ignores: everything about TensorFlow.
"""

from __future__ import annotations

import threading
from typing import Any


class _ThreadState(threading.local):
    """Attributes: `run` (the active Run or None), `tapes` (GradientTapes that were really entered, outermost first;
    complete if `generation` is that of the hooks), `accumulators` (number of recording forward accumulators).
    """

    run: Any = None
    accumulators: int = 0
    generation: int = 0

    def __init__(self) -> None:
        self.tapes: list[Any] = []

    def recording(self) -> list[Any]:
        """The tapes that really record, always in the same list.

        The tape's own flag decides: an interruption between leaving it and removing it from the list keeps it there.
        Stopping and restarting such a tape, as around building a graph, would start a recording that never ends.
        """
        tapes = self.tapes
        if tapes and not all(tape._recording for tape in tapes):
            tapes[:] = [tape for tape in tapes if tape._recording]
        return tapes


class _Hooks:
    """Attributes: `installed` (whether TensorFlow's API is hooked), `generation` (number of times that its hooks were
    removed: tapes entered in between are unknown).
    """

    installed = False
    generation = 0


thread = _ThreadState()
hooks = _Hooks()
forked: list[bool] = []  # non-empty in a process that was forked while the shim was in use
