"""Runs programs or packages in parallel, one on each processor.

Computes: the results of a function for each of them, in processes that are bound to one processor each, so that processor times are
comparable. Needs: a function at the top of a module. Gives: `on_each_processor`.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.queues import Queue
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_T = TypeVar("_T")


def on_each_processor(function: Callable[[_Item], _T], items: Sequence[_Item]) -> Iterator[tuple[_Item, _T]]:
    """Each program or package with its result, in order of completion. An exception of the function is raised here."""
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    context = multiprocessing.get_context("spawn")
    free: Queue[int] = context.Queue()
    for processor in processors:
        free.put(processor)
    with ProcessPoolExecutor(len(processors) or 1, context, _bind, (free,)) as pool:
        waiting = {pool.submit(function, item): item for item in items}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _bind(free: Queue[Any]) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {free.get()})
