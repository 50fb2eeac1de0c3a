"""The dask executor: a cluster of several workers, one of which is killed; nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.batch.executors import run_on_dask
from terra_refactor.batch.limits import RepositoryLimits
from terra_refactor.batch.manifest import ManifestEntry, SourceKind
from terra_refactor.errors import UsageError

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # the cluster's own threads and sockets end when they want
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    pids = [worker.pid for worker in cluster.workers.values()]
    print(cluster.scheduler_address, *pids, flush=True)
    sys.stdin.read()
    cluster.close()
"""


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path) -> Iterator[tuple[str, list[int]]]:
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        address, *pids = process.stdout.readline().split()
        yield address, [int(pid) for pid in pids]
        process.stdin.close()
        process.wait(timeout=60)


def entries(folder: Path, count: int) -> list[ManifestEntry]:
    made = []
    for number in range(count):
        place = folder / f"p{number:02}"
        place.mkdir()
        (place / "m.py").write_text(
            f"import tensorflow as tf\n\ndef f(x):\n    return x * {number}\n\nf(tf.ones([3]))\n"
        )
        made.append(ManifestEntry(place.name, SourceKind.PATH, str(place)))
    return made


def test_a_worker_is_killed(cluster: tuple[str, list[int]], tmp_path: Path) -> None:
    address, pids = cluster
    wanted = entries(tmp_path, 8)
    results: list[dict[str, Any]] = []
    for result in run_on_dask(wanted, RepositoryLimits(), address):
        results.append(result)
        if len(results) == 3:
            os.kill(pids[0], signal.SIGKILL)
            time.sleep(0.5)
    assert sorted(result["name"] for result in results) == [entry.name for entry in wanted]
    assert {result["status"] for result in results} == {"done"}
    assert json.dumps(results)


def test_no_scheduler() -> None:
    with pytest.raises(UsageError, match="no dask scheduler at nonsense"):
        list(run_on_dask([], RepositoryLimits(), "nonsense://"))
