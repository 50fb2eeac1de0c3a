"""Analysis outside of the event loop, always of the newest text.

Gives: `Scheduler.snapshot`, which returns the facts about the present text, and `Scheduler.first`, which returns a
first answer if that takes long. Needs: the documents.

One analysis runs at a time, in its own thread; requests for the same text share it. When a text changes, the running
analysis is cancelled, and its waiters get the newer text's answer. A crash affects only the requests that wait for
it. Garbage is collected while no request waits, because a collection takes longer than the analysis after a
keystroke.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from lsp_server.documents import Documents
from terra_refactor.errors import SourceError
from terra_refactor.ide.regions import find_regions
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.workspace.workspace import ProgressCallback

LOGGER = logging.getLogger(__name__)
_T = TypeVar("_T")

DEBOUNCE: Final = 0.02
"""Debounce delay in seconds while the user types, if the last analysis was short."""
_SHARE: Final = 0.05
"""Maximum delay as a share of an analysis: beyond it, waiting costs more than an unneeded analysis, which stops at the
next change.
"""
_TYPING: Final = 0.3
"""In seconds: a change that follows another one within this time is part of typing; a single change is analysed immediately."""
_IDLE: Final = 1.0
"""Seconds without a request after which garbage is collected."""
_MOST_UNSEARCHED: Final = 2_000
"""Number of analyses after which garbage is collected in any case."""
_LONG: Final = 0.3
"""After an analysis longer than this, the debounce delay is longer."""


@dataclass(slots=True)
class _Job:
    """A running or waiting analysis, and its path."""

    session: Session
    generation: int
    future: asyncio.Future[Snapshot]


class Scheduler:
    """Runs analyses. Lives on the event loop."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="terra-analysis")
        self._jobs: dict[str, _Job] = {}
        self._last_change = 0.0
        self._typing = False
        """The last change followed soon after the one before."""
        self._change = asyncio.Event()
        """Set when a text changes, and then replaced."""
        self._seconds: dict[int, float] = {}
        """The duration of the last analysis of each session."""
        self.stopped = False
        """No more analyses are started."""
        self._idle: float | None = None
        """Seconds without a request after which garbage is collected; None if Python does that itself."""
        self._search: asyncio.TimerHandle | None = None
        self._unsearched = 0
        """Number of analyses since garbage was last collected."""
        self._running = 0
        self._first = 0
        """Number of first answers for which requests wait: a full analysis yields to them."""
        self.watcher: Callable[[Session], AbstractAsyncContextManager[ProgressCallback]] = _unwatched
        """Receives the progress of an analysis."""
        self._unkept: dict[int, Session] = {}
        """Sessions with analyses that are not stored on disk yet."""

    def collect_when_idle(self, idle: float = _IDLE) -> None:
        """Takes over garbage collection in this process. Existing objects are frozen."""
        gc.freeze()
        gc.disable()
        self._idle = idle

    def _asked(self) -> None:
        """A request waits: postpones garbage collection."""
        if self._search is not None:
            self._search.cancel()
            self._search = None
        if self._idle is not None and not self.stopped:
            self._search = asyncio.get_running_loop().call_later(self._idle, self._collect)

    def _collect(self) -> None:
        if self._running == 0:  # else at its end
            gc.collect()
            self._unsearched = 0
            self._keep()

    def _keep(self) -> None:
        """Idle: writes analysis results to disk until a request arrives."""
        generation = self._documents.generation

        def cancelled() -> bool:
            return self.stopped or self._running > 0 or self._documents.generation != generation

        for session in tuple(self._unkept.values()):
            if not self.stopped:
                self._pool.submit(_kept, session, cancelled)

    def _analysed(self) -> None:
        """Called after one or more analyses have ended."""
        self._running -= 1
        self._unsearched += 1
        if self._idle is not None and self._unsearched >= _MOST_UNSEARCHED:
            self._collect()
        self._asked()

    def changed(self) -> None:
        """A text changed: running analyses are stale."""
        now = time.monotonic()
        self._typing = now - self._last_change < _TYPING
        self._last_change = now
        self._change.set()
        self._change = asyncio.Event()
        self._asked()

    async def next_change(self) -> None:
        """Returns when a text changes, or at the end."""
        if not self.stopped:
            await self._change.wait()

    def stop(self) -> None:
        """Starts no further analysis; the running one ends soon."""
        self.stopped = True
        self._asked()
        self._change.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def snapshot(self, path: str) -> Snapshot | None:
        """The current snapshot of a path; None if it cannot be read.

        Raises:
            Exception: whatever the analysis raised, which is an internal error.
        """
        self._asked()
        while True:
            documents = self._documents
            session = documents.session(path)
            known = session.fresh(path)
            if known is not None:
                return known
            await self._quiet(session)
            if session is not documents.session(path):
                continue
            job = self._jobs.get(path)
            out_of_date = job is None or job.generation != documents.generation or job.session is not session
            if job is None or out_of_date or job.future.done():  # cancelled for a first answer
                job = _Job(session, documents.generation, asyncio.ensure_future(self._run(session, path)))
                job.future.add_done_callback(partial(_ended, path))
                self._jobs[path] = job
            try:
                # a cancelled waiter must not end the analysis that others wait for
                return await asyncio.shield(job.future)
            except StaleError:
                if self.stopped:
                    return None
                continue
            except SourceError as error:
                LOGGER.info("%s", error)
                return None

    async def first(self, path: str) -> Snapshot | None:
        """The current snapshot of a path; if much connected code is not analysed yet, a first answer from the file and its imports
        (`Snapshot.left_out`). None and exceptions as `snapshot`."""
        self._asked()
        while not self.stopped:
            documents = self._documents
            session = documents.session(path)
            known = session.fresh(path) or session.fresh_first(path)
            if known is not None:
                return known
            await self._quiet(session)
            generation = documents.generation
            if session is not documents.session(path):
                continue

            def cancelled(generation: int = generation) -> bool:
                return self.stopped or self._documents.generation != generation

            self._first += 1
            try:
                found = await self.in_thread(partial(_without_garbage, partial(session.first, path, cancelled)))
            except StaleError:
                continue
            except SourceError as error:
                LOGGER.info("%s", error)
                return None
            finally:
                self._first -= 1
            return await self.snapshot(path) if found is None else found
        return None

    async def regions(self, snapshot: Snapshot) -> bool:
        """Searches for the regions of a snapshot's files, unless they are known (`ide.regions`).

        False if a text changed meanwhile.
        """
        generation = self._documents.generation

        def cancelled() -> bool:
            return self.stopped or self._documents.generation != generation or self._first > 0

        try:
            await self.in_thread(partial(_without_garbage, partial(find_regions, snapshot, cancelled)))
        except StaleError:
            return False
        return True

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Runs a long task other than the analysis of one path in a thread."""
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._analysed()

    async def _quiet(self, session: Session) -> None:
        """Debounces: waits until there is a pause in the edits."""
        if not self._typing:
            return
        last = self._seconds.get(id(session), 0.0)
        pause = min(DEBOUNCE, last * _SHARE) if last < _LONG else min(0.4, last / 4)
        while (left := self._last_change + pause - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def _run(self, session: Session, path: str) -> Snapshot:
        documents = self._documents
        generation = documents.generation
        started = time.perf_counter()

        def cancelled() -> bool:
            return self.stopped or documents.generation != generation or self._first > 0

        async with self.watcher(session) as progress:
            work = partial(session.snapshot, path, cancelled, progress)
            snapshot = await self.in_thread(partial(_without_garbage, work))
        self._seconds[id(session)] = time.perf_counter() - started
        self._unkept[id(session)] = session
        return snapshot


def _ended(path: str, future: asyncio.Future[Snapshot]) -> None:
    """Retrieves the exception of an analysis: its waiters may have been cancelled, and asyncio warns about exceptions
    that are never retrieved. Stale and unreadable texts are not errors; an internal error is logged once for all
    waiters.
    """
    error = None if future.cancelled() else future.exception()
    if error is not None and not isinstance(error, StaleError | SourceError):
        LOGGER.error("the analysis of %s failed", path, exc_info=error)


def _kept(session: Session, cancelled: Callable[[], bool]) -> None:
    try:
        session.keep(cancelled)
    except StaleError:
        pass  # there will be another idle moment
    except Exception:
        LOGGER.exception("the results cannot be stored")


@asynccontextmanager
async def _unwatched(_: Session) -> AsyncIterator[ProgressCallback]:
    yield lambda *_: None


def _without_garbage(work: Callable[[], _T]) -> _T:
    """The result of an analysis without garbage collections: it creates many long-lived objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return work()
    finally:
        if enabled:
            gc.enable()
