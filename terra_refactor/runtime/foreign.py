"""Other threads: a thread that touches TensorFlow must see what a co-executed function on another thread has done so far.

Computes: whether another thread has a run with pending operations. Needs: the register of runs.
Gives: `register`, `unregister`, `other_runs`, `before_operation`, `thread_hooks`.
Ignores: threads that never touch TensorFlow.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from terra_refactor.runtime.executor import wait_for_segments
from terra_refactor.runtime.state import thread

STILL = 0.05  # seconds without a hooked call after which a thread is taken to be blocked in Python

_runs: dict[int, Any] = {}


def register(run: Any) -> None:
    """A run begins on this thread."""
    _runs[threading.get_ident()] = run


def unregister() -> None:
    """The run of this thread has ended."""
    _runs.pop(threading.get_ident(), None)


def other_runs() -> bool:
    """Whether any run is active; asked on threads that have none."""
    return bool(_runs)


def conflict(program: Any) -> bool:
    """Whether a run on another thread touches variables that `program` assigns to, or the other way round."""
    own = threading.get_ident()
    return any(thread_id != own and program.conflicts_with(run.program) for thread_id, run in list(_runs.items()))


def before_touching(handles: list[int]) -> None:
    """An operation of a run is about to read or write variables while other threads have runs."""
    own = threading.get_ident()
    for thread_id, run in list(_runs.items()):
        if thread_id != own and not run.program.writes.union(run.program.reads).isdisjoint(handles):
            _end_deferral(run)
            wait_for_segments()


def several_runs() -> bool:
    """Whether more than one thread has a run."""
    return len(_runs) > 1


def before_operation() -> None:
    """A thread that defers nothing is about to run an operation while another thread has a run.

    From now on that run defers nothing. What it has pending, it runs at its next hooked call; if it makes none because
    it is blocked (waiting for this very thread, perhaps), what is pending is run from here.
    """
    own = threading.get_ident()
    for thread_id, run in list(_runs.items()):
        if thread_id != own:
            _end_deferral(run)
    wait_for_segments()


def _end_deferral(run: Any) -> None:
    """A run of another thread defers nothing from here on, and what it has deferred has run when this returns.

    That thread may be running it just now, which takes long where a segment is built. Two threads that do this at the same
    time do not wait for each other without end.
    """
    own = threading.get_ident()
    run.shared = True
    since = time.monotonic()
    here = thread.run
    patient = here is None or not here.flushing
    while run.pending or run.flushing:
        if run.flushing == own or not ((run.flushing and patient) or time.monotonic() - since < STILL):
            break
        time.sleep(0.001)
    with run.lock:
        if run.pending and not run.depth and not run.tapes:
            run.cut()


def forget_other_threads() -> None:
    """In a forked process there is but one thread."""
    _runs.clear()


def _flush_here() -> None:
    run = thread.run
    if run is not None and not run.tld.is_eager:
        return  # TensorFlow traces a graph, and may hold a lock of its own; another thread's operation ends deferral anyway
    if run is not None and not run.depth:
        run.cut()
    if run is None or not run.depth:
        wait_for_segments()


def _before(real: Any) -> Any:
    """What lets another thread go on happens after everything before it."""

    def hooked(*args: Any, **kwargs: Any) -> Any:
        _flush_here()
        return real(*args, **kwargs)

    return hooked


def thread_hooks() -> list[tuple[Any, str, Any]]:
    """(owner, attribute, replacement): starting a thread, and waking one (events, queues, futures go through conditions)."""
    return [
        (threading.Thread, "start", _before(threading.Thread.start)),
        (threading.Condition, "notify", _before(threading.Condition.notify)),
        (threading.Condition, "notify_all", _before(threading.Condition.notify_all)),
    ]
