"""Executors: processes of this machine, or the workers of a dask cluster.

Gives: `run_locally`, `run_on_dask`: both return results as they arrive, in any order, each entry exactly once.

The processes of this machine are children of threads, since each repository gets a process of its own anyway. On a cluster, dask runs
a task again when its worker dies; the results are collected under one key each, so none is lost or duplicated. A task whose worker
dies several times is a failed result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from terra_refactor.batch.limits import RepositoryLimits, RepositoryStatus
from terra_refactor.batch.manifest import ManifestEntry
from terra_refactor.batch.work import line_of, run_entry, stop_all
from terra_refactor.errors import UsageError


def run_locally(entries: Sequence[ManifestEntry], limits: RepositoryLimits, jobs: int) -> Iterator[dict[str, Any]]:
    """Results as they arrive, `jobs` repositories at a time."""
    executor = ThreadPoolExecutor(max_workers=jobs)
    try:
        futures = [executor.submit(run_entry, entry, limits) for entry in entries]
        for future in as_completed(futures):
            yield future.result()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        stop_all()
        executor.shutdown()


def run_on_dask(entries: Sequence[ManifestEntry], limits: RepositoryLimits, scheduler: str) -> Iterator[dict[str, Any]]:
    """Results as they arrive, from the workers of the cluster whose scheduler is at that address.

    Raises:
        UsageError: `distributed` is not installed, or there is no scheduler.
    """
    try:
        import distributed  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UsageError("--executor dask: needs `pip install terra-refactor[dask]`") from error
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--scheduler: no dask scheduler at {scheduler}: {error}") from error
    with client:
        futures = {client.submit(run_entry, entry, limits, pure=False): entry for entry in entries}
        for future in distributed.as_completed(list(futures)):
            entry = futures[future]
            lost_by = future.exception()
            yield future.result() if lost_by is None else _lost(entry, lost_by)
            future.release()


def _lost(entry: ManifestEntry, error: BaseException) -> dict[str, Any]:
    said = f"lost by the cluster: {type(error).__name__}: {error}"
    return line_of(entry, 0.0, {"status": RepositoryStatus.FAILED.value, "error": said})
