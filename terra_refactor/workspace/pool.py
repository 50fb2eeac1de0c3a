"""Parsing and lowering of many files, in worker processes.

Computes: the `ModuleIR` of each file. Needs: sources with their module names, the number of jobs, a cache or none.
Gives: one result for each file, in the order in which the files were given, whatever the number of jobs. A file that
cannot be analysed is a result, too, and so is one on which a worker process died.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
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
"""Files per worker process below which starting it costs more than it saves."""


_MOST_WORKERS = 8
"""For each processor, whatever the configuration says."""


@dataclass(frozen=True, slots=True)
class LoweringTask:
    """One file and what it is called."""

    source: Source
    name: str
    is_package: bool


@dataclass(frozen=True, slots=True)
class Lowered:
    """A file that was lowered, or found in the cache."""

    module: ModuleIR
    cached: bool


LoweringResult: TypeAlias = Lowered | FileError
Advance: TypeAlias = Callable[[int], None]
Lower: TypeAlias = Callable[["LoweringTask", LoweringCache | None], "LoweringResult"]


def available_jobs() -> int:
    """How many processes this machine lets us run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def lower_files(
    tasks: Sequence[LoweringTask], *, jobs: int, cache: LoweringCache | None, advance: Advance
) -> list[LoweringResult]:
    """Lower every file; `advance(n)` is called when `n` more are done."""
    results: dict[int, LoweringResult] = {}
    missing: list[int] = []
    for index, task in enumerate(tasks):
        found = _from_cache(task, cache)
        if found is None:
            missing.append(index)
        else:
            results[index] = found
            advance(1)
    workers = min(jobs, len(missing) // _WORTH_A_WORKER, available_jobs() * _MOST_WORKERS)
    if workers < 2:
        for index in missing:
            results[index] = _lower(tasks[index], cache)
            advance(1)
    else:
        for index, result in _in_workers(tasks, missing, workers, cache):
            results[index] = result
            advance(1)
    return [results[index] for index in range(len(tasks))]


def _from_cache(task: LoweringTask, cache: LoweringCache | None) -> LoweringResult | None:
    if cache is None:
        return None
    module = cache.find(task.source.digest, task.name, task.source.path, is_package=task.is_package)
    return None if module is None else Lowered(module, cached=True)


def _lower(task: LoweringTask, cache: LoweringCache | None) -> LoweringResult:
    try:
        from terra_refactor.ir.build.module import lower_module  # noqa: PLC0415
        from terra_refactor.syntax.parse import parse_module  # noqa: PLC0415

        module = lower_module(parse_module(task.source), task.name, is_package=task.is_package)
    except SourceError as error:
        return FileError.in_text(error, task.source)
    except Exception as error:  # a bug of ours costs this file, and is seen
        LOGGER.exception("lowering %s failed", task.source.path)
        message = f"could not be analysed: lowering failed inside ({error!r})"
        return FileError(task.source.path, 0, message, by_chance=True)  # without memory, for one
    if cache is not None:
        cache.keep(module)
    return Lowered(module, cached=False)


# --- worker processes -----------------------------------------------------------------------------------------------------------------


def _start_worker() -> None:
    gc.disable()  # see `collection`
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the main process's business


def _in_workers(
    tasks: Sequence[LoweringTask],
    indices: Sequence[int],
    workers: int,
    cache: LoweringCache | None,
    lower: Lower = _lower,
) -> Iterator[tuple[int, LoweringResult]]:
    """Results as they come. Largest files first, so that no worker is left alone with one at the end."""
    waiting = sorted(indices, key=lambda index: -_size(tasks[index]))
    left = set(waiting)
    executor = ProcessPoolExecutor(workers, mp_context=start_method(), initializer=_start_worker)
    try:
        futures: dict[Future[LoweringResult], int] = {
            executor.submit(lower, tasks[index], cache): index for index in waiting
        }
        for future in as_completed(futures):
            result = future.result()
            left.discard(futures[future])
            yield futures[future], result
    except BrokenProcessPool:
        executor.shutdown(wait=False, cancel_futures=True)
        yield from _one_by_one(tasks, sorted(left), cache, lower)
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    else:
        executor.shutdown()


def _one_by_one(
    tasks: Sequence[LoweringTask], indices: Sequence[int], cache: LoweringCache | None, lower: Lower
) -> Iterator[tuple[int, LoweringResult]]:
    """A worker died and nobody knows of which file: each file that is left gets a process of its own that may die."""
    executor: ProcessPoolExecutor | None = None
    for index in indices:
        if executor is None:
            executor = ProcessPoolExecutor(1, mp_context=start_method(), initializer=_start_worker)
        try:
            yield index, executor.submit(lower, tasks[index], cache).result()
        except BrokenProcessPool:
            executor = None
            LOGGER.error("a worker process died of %s", tasks[index].source.path)
            yield (
                index,
                FileError(
                    tasks[index].source.path,
                    0,
                    "could not be analysed: the parser's process died of it",
                    by_chance=True,
                ),
            )
    if executor is not None:
        executor.shutdown()


def _size(task: LoweringTask) -> int:
    return len(task.source.text)
