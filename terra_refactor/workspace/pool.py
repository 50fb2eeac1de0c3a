"""Parsing and lowering of many files, in worker processes.

Computes: the `ModuleIR` of each file. Needs: sources with their module names, the number of jobs, and optionally a
cache. Gives: one result for each file, in the order of the files, for any number of jobs. A file that cannot be
analysed, or on which a worker process died, has a result, too.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeoutError  # another class before Python 3.11
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.errors import SourceError
from terra_refactor.ir.program import ModuleIR
from terra_refactor.isolation import start_method
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import LoweringCache
from terra_refactor.workspace.results import FileError

LOGGER = logging.getLogger(__name__)

_WORTH_A_WORKER = 12
"""Minimum number of files per worker process; with fewer, starting it costs more than it saves."""


_MOST_WORKERS = 8
"""Maximum number of workers for each processor, whatever the configuration."""


@dataclass(frozen=True, slots=True)
class LoweringTask:
    """One file with its module name."""

    source: Source
    name: str
    is_package: bool


@dataclass(frozen=True, slots=True)
class Lowered:
    """A file that was lowered, or found in the cache."""

    module: ModuleIR
    cached: bool


@dataclass(frozen=True, slots=True)
class Unusual:
    """A file on which the parser may hang or crash; not lowered yet."""


LoweringResult: TypeAlias = Lowered | FileError
Attempt: TypeAlias = Lowered | FileError | Unusual
Advance: TypeAlias = Callable[[int], None]
Lower: TypeAlias = Callable[["LoweringTask", LoweringCache | None], "Attempt"]

PATIENCE = 120.0
"""Seconds of wall time after which a process is killed: ten times the time for the largest file that is parsed at all."""


_MOMENT = 0.05


def available_jobs() -> int:
    """The number of processes that can run at once on this machine."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


def processors_for(jobs: int) -> int:
    """The number of processors that a run with `jobs` processes may use; 0 stands for all of them."""
    return min(jobs or available_jobs(), available_jobs())


def lower_files(
    tasks: Sequence[LoweringTask], *, jobs: int, cache: LoweringCache | None, advance: Advance, keep: bool = True
) -> list[LoweringResult]:
    """Lowers every file; `advance(n)` is called when `n` more are done, and regularly with 0, so that it can cancel. New
    results are stored in the cache unless the caller does so.
    """
    results: dict[int, LoweringResult] = {}
    missing: list[int] = []
    for index, task in enumerate(tasks):
        found = _from_cache(task, cache)
        if found is None:
            missing.append(index)
        else:
            results[index] = found
            advance(1)
    cache = cache if keep else None
    workers = min(jobs, len(missing) // _WORTH_A_WORKER, available_jobs() * _MOST_WORKERS)
    here = ((index, _lower(tasks[index], cache)) for index in missing)
    unusual: list[int] = []
    for index, result in here if workers < 2 else _in_workers(tasks, missing, workers, cache, advance=advance):
        if isinstance(result, Unusual):
            unusual.append(index)
        else:
            results[index] = result
            advance(1)
    for index, result in _one_by_one(tasks, unusual, cache, _lower_unusual):
        assert not isinstance(result, Unusual)
        results[index] = result
        advance(1)
    return [results[index] for index in range(len(tasks))]


def _from_cache(task: LoweringTask, cache: LoweringCache | None) -> LoweringResult | None:
    if cache is None:
        return None
    module = cache.find(task.source.digest, task.name, task.source.path, is_package=task.is_package)
    return None if module is None else Lowered(module, cached=True)


def _lower(task: LoweringTask, cache: LoweringCache | None) -> Attempt:
    from terra_refactor.syntax.parse import UnusualSourceError  # noqa: PLC0415 - what is in the cache is not parsed

    try:
        return _lowered(task, cache, unusual=False)
    except UnusualSourceError:
        return Unusual()


def _lower_unusual(task: LoweringTask, cache: LoweringCache | None) -> Attempt:
    return _lowered(task, cache, unusual=True)


def _lowered(task: LoweringTask, cache: LoweringCache | None, *, unusual: bool) -> LoweringResult:
    from terra_refactor.syntax.parse import UnusualSourceError, parse_module  # noqa: PLC0415

    try:
        from terra_refactor.ir.build.module import lower_module  # noqa: PLC0415

        parsed = parse_module(task.source, unusual=unusual)
        module = lower_module(parsed, task.name, is_package=task.is_package)
    except UnusualSourceError:
        raise
    except SourceError as error:
        return FileError.in_text(error, task.source)
    except Exception as error:  # an internal error affects only this file, and is logged
        LOGGER.exception("lowering %s failed", task.source.path)
        message = f"could not be analysed: lowering failed inside ({error!r})"
        return FileError(task.source.path, 0, message, by_chance=True)  # for example lack of memory
    if cache is not None:
        cache.keep(module)
    return Lowered(module, cached=False)


# --- worker processes -----------------------------------------------------------------------------------------------------------------


def _start_worker() -> None:
    gc.disable()  # see `collection`
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles interrupts


def _in_workers(
    tasks: Sequence[LoweringTask],
    indices: Sequence[int],
    workers: int,
    cache: LoweringCache | None,
    lower: Lower = _lower,
    patience: float = PATIENCE,
    advance: Advance = lambda _: None,
) -> Iterator[tuple[int, Attempt]]:
    """Results in order of arrival. Largest files first, so that no worker is left with a large one at the end."""
    waiting = sorted(indices, key=lambda index: -_size(tasks[index]))
    left = set(waiting)
    executor = ProcessPoolExecutor(workers, mp_context=start_method(), initializer=_start_worker)
    try:
        futures: dict[Future[Attempt], int] = {executor.submit(lower, tasks[index], cache): index for index in waiting}
        pending = set(futures)
        while pending:
            done, pending = _first_done(pending, patience, advance)
            if not done:
                raise BrokenProcessPool("no result")
            for future in done:
                result = future.result()
                left.discard(futures[future])
                yield futures[future], result
    except BrokenProcessPool:
        end_processes(executor)
        yield from _one_by_one(tasks, sorted(left), cache, lower, patience)
    except BaseException:
        end_processes(executor)  # in an editor, each keystroke may cancel: processes that continued would accumulate
        raise
    else:
        executor.shutdown()


def _first_done(
    pending: set[Future[Attempt]], patience: float, advance: Advance
) -> tuple[set[Future[Attempt]], set[Future[Attempt]]]:
    """The first results, and the rest; no rest if the start takes too long. Processes need seconds to start on a busy machine."""
    until = time.monotonic() + patience
    while True:
        done, rest = wait(pending, timeout=min(patience, _MOMENT), return_when=FIRST_COMPLETED)
        if done or time.monotonic() >= until:
            return done, rest
        advance(0)


def _one_by_one(
    tasks: Sequence[LoweringTask],
    indices: Sequence[int],
    cache: LoweringCache | None,
    lower: Lower,
    patience: float = PATIENCE,
) -> Iterator[tuple[int, Attempt]]:
    """Each file gets a process that may die or be killed: because its text is unusual, or because a process died on an
    unknown file.
    """
    executor: ProcessPoolExecutor | None = None
    try:
        for index in indices:
            if executor is None:
                executor = ProcessPoolExecutor(1, mp_context=start_method(), initializer=_start_worker)
            path = tasks[index].source.path
            try:
                result: Attempt = executor.submit(lower, tasks[index], cache).result(patience)
            except RecursionError:
                # its result is nested too deeply to be sent; but the parser survived the text
                result = lower(tasks[index], cache)
            except (BrokenProcessPool, TimeoutError, FutureTimeoutError) as error:
                end_processes(executor)
                executor = None
                died = isinstance(error, BrokenProcessPool)
                LOGGER.error("a worker process %s %s", "died of" if died else "did not finish with", path)
                why = "the parser's process crashed" if died else f"the parser took more than {patience:.0f} seconds"
                result = FileError(path, 0, f"could not be analysed: {why}", by_chance=True)
            yield index, result
    finally:
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def end_processes(executor: ProcessPoolExecutor) -> None:
    """Kills the processes; waiting for them, or asking them to stop, could take forever."""
    processes = list(
        (getattr(executor, "_processes", None) or {}).values()
    )  # there is no public interface before Python 3.14
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _size(task: LoweringTask) -> int:
    return len(task.source.text)
