"""Other threads: an operation on one thread must observe the effects of a co-executed function on another.

Computes: whether another thread has a run with pending operations. Needs: the register of runs.
Gives: `register`, `unregister`, `other_runs`, `before_operation`, `thread_hooks`.
Ignores: threads that never touch TensorFlow.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from terra_refactor.runtime.executor import wait_for_segments
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import pywrap_tfe

STILL = 0.05  # seconds without a hooked call after which a thread is assumed to be blocked in Python
LONGEST = 2.0  # seconds that a thread may be inside the shim's or TensorFlow's Python code
LONGEST_FOR_A_VALUE = 60.0  # seconds until a value that only another thread can compute is given up
_LIBRARIES = frozenset(("tensorflow", "keras", "terra_refactor"))
_PASSED_OVER = frozenset(("numpy", *sys.stdlib_module_names)) - {"__main__"}

_runs: dict[int, Any] = {}

stop_recording = pywrap_tfe.TFE_Py_TapeSetStopOnThread
restart_recording = pywrap_tfe.TFE_Py_TapeSetRestartOnThread


def register(run: Any) -> None:
    """Register the run of this thread."""
    _runs[threading.get_ident()] = run


def unregister() -> None:
    """Unregister the run of this thread."""
    _runs.pop(threading.get_ident(), None)


def other_runs() -> bool:
    """Whether a run is active on another thread; for threads without a run."""
    return bool(_runs)


def conflict(program: Any) -> bool:
    """Whether a run on another thread touches variables that `program` assigns, or vice versa."""
    own = threading.get_ident()
    return any(thread_id != own and program.conflicts_with(run.program) for thread_id, run in list(_runs.items()))


def before_touching(handles: list[int]) -> None:
    """Called before an operation of a run reads or writes variables while other threads have runs."""
    own = threading.get_ident()
    for thread_id, run in list(_runs.items()):
        if thread_id != own and not run.program.writes.union(run.program.reads).isdisjoint(handles):
            _end_deferral(run)
            wait_for_segments()


def several_runs() -> bool:
    """Whether more than one thread has a run."""
    return len(_runs) > 1


def before_operation() -> None:
    """Called before a thread without a run executes an operation while another thread has a run.

    From now on that run defers nothing. It runs its pending operations at its next hooked call; if there is none
    because it is blocked (perhaps waiting for this very thread), they are run from here.
    """
    own = threading.get_ident()
    for thread_id, run in list(_runs.items()):
        if thread_id != own:
            _end_deferral(run)
    wait_for_segments()


def _end_deferral(run: Any) -> None:
    """Ends the deferral of another thread's run, after its deferred operations have run."""
    run_from_elsewhere(run, lambda: bool(run.pending or run.flushing), LONGEST)


def ask_for(run: Any, lazy: Any) -> None:
    """Computes a tensor deferred by another thread's run, if possible."""
    run_from_elsewhere(run, lambda: lazy._value is None and bool(run.pending or run.flushing), LONGEST_FOR_A_VALUE)


def run_from_elsewhere(run: Any, unfinished: Callable[[], bool], longest: float) -> None:
    """Executes the deferred operations of another thread's run; `unfinished` returns whether something is still
    missing.

    Usually its own thread does so at its next hooked call, which takes long if a segment is built. Only if that
    thread makes no hooked call because it is blocked (perhaps waiting for this very thread), it is done here: never
    while it is in the shim's own Python code, and never if one of its tapes is involved, since tapes belong to the
    thread that entered them. Two threads that do this at the same time do not deadlock.
    """
    own = threading.get_ident()
    run.shared = True
    since = time.monotonic()
    here = thread.run
    patient = here is None or not here.flushing
    while unfinished() and run.flushing != own:
        waited = time.monotonic() - since
        if run.flushing:
            if waited > STILL and not patient:
                return
        elif waited > longest:
            return
        elif waited > STILL and run.lock.acquire(blocking=False):
            try:
                if run.tapes or any(tape._recording for tape in list(run.real_tapes)):
                    if longest <= LONGEST:  # nothing but the order of operations depends on it
                        return
                elif run.pending and not run.depth and _in_its_own_python(run.ident):
                    _run_here(run)
                    return
            finally:
                run.lock.release()
        time.sleep(0.001)


def _in_its_own_python(ident: int) -> bool:
    """Whether a thread executes the program or Python's library, not the shim."""
    frame = sys._current_frames().get(ident)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in _LIBRARIES and frame.f_code is not _hooked_code:
            return False
        if package not in _PASSED_OVER and package not in _LIBRARIES:
            return True
        frame = frame.f_back
    return True


def _run_here(run: Any) -> None:
    """Runs another thread's deferred operations, invisible to the tapes and the run of this thread."""
    here, tapes = thread.run, thread.tapes
    log = None
    if here is not None:
        log, here.log = here.log, None
    thread.tapes = []
    stop_recording()
    try:
        run.cut()
    finally:
        restart_recording()
        thread.tapes = tapes
        if here is not None:
            here.log = log


def forget_other_threads() -> None:
    """Removes the runs of other threads in a forked process, which has only one thread."""
    _runs.clear()


def _flush_here() -> None:
    run = thread.run
    if run is not None and not run.tld.is_eager:
        return  # TensorFlow traces a graph, and may hold a lock; another thread's operation ends the deferral anyway
    if run is not None and not run.depth:
        run.cut()
    if run is None or not run.depth:
        wait_for_segments()


def _before(real: Any) -> Any:
    """Runs pending operations before a call that wakes another thread or waits for one."""

    def hooked(*args: Any, **kwargs: Any) -> Any:
        _flush_here()
        return real(*args, **kwargs)

    return hooked


_hooked_code = _before(None).__code__


def thread_hooks() -> list[tuple[Any, str, Any]]:
    """(owner, attribute, replacement): starting a thread, waking one, and waiting (events, queues and futures use
    conditions).

    A waiting thread has run its deferred operations, which another thread could not run if tapes are open.
    """
    return [
        (threading.Thread, "start", _before(threading.Thread.start)),
        (threading.Thread, "join", _before(threading.Thread.join)),
        (threading.Condition, "wait", _before(threading.Condition.wait)),
        (threading.Condition, "notify", _before(threading.Condition.notify)),
        (threading.Condition, "notify_all", _before(threading.Condition.notify_all)),
    ]
