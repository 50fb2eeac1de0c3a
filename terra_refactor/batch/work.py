"""One repository from its entry to its result line.

Gives: `run_entry`, which every executor calls, in a thread or on another machine; its result is plain data. Never
raises because of a repository: a process that dies, or exceeds its limits of time or memory, gives a result, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from terra_refactor import __version__
from terra_refactor.batch.fetch import FetchError, fetched
from terra_refactor.batch.limits import BATCH_SCHEMA, RepositoryLimits, RepositoryStatus
from terra_refactor.batch.manifest import ManifestEntry
from terra_refactor.isolation import isolated_command

_RUNNING: Final[set[subprocess.Popen[str]]] = set()
_LOCK: Final = threading.Lock()


def run_entry(entry: ManifestEntry, limits: RepositoryLimits) -> dict[str, Any]:
    """The result line of one repository."""
    started = time.monotonic()
    try:
        with fetched(entry, limits.seconds) as folder:
            left = limits.seconds - (time.monotonic() - started)
            outcome = _analysed(folder, entry, limits, max(left, 1.0))
    except FetchError as error:
        outcome = {"status": RepositoryStatus.FAILED.value, "error": str(error)}
    except subprocess.TimeoutExpired:
        outcome = {
            "status": RepositoryStatus.TIMEOUT.value,
            "error": f"took more than {limits.seconds:g} seconds to fetch",
        }
    except OSError as error:  # no space for temporary files, or no process available
        outcome = {"status": RepositoryStatus.FAILED.value, "error": f"{type(error).__name__}: {error}"}
    return line_of(entry, time.monotonic() - started, outcome)


def line_of(entry: ManifestEntry, seconds: float, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A result line: the entry, and its outcome (`status`, `error` and, if it was analysed, the numbers)."""
    return {
        "schema": BATCH_SCHEMA,
        "name": entry.name,
        "kind": entry.kind.value,
        "location": entry.location,
        "revision": entry.revision,
        "identity": entry.identity,
        "version": __version__,
        "seconds": round(seconds, 3),
        **outcome,
    }


def stop_all() -> None:
    """Ends the running processes, for an interrupted run."""
    with _LOCK:
        for process in tuple(_RUNNING):
            _kill(process)


def _analysed(folder: str, entry: ManifestEntry, limits: RepositoryLimits, seconds: float) -> dict[str, Any]:
    task = {"folder": folder, "paths": list(entry.paths), "memory_mb": limits.memory_mb}
    process = subprocess.Popen(
        isolated_command("terra_refactor.batch.child"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,
    )
    with _LOCK:
        _RUNNING.add(process)
    try:
        answer, _ = process.communicate(json.dumps(task), timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"status": RepositoryStatus.TIMEOUT.value, "error": f"took more than {limits.seconds:g} seconds"}
    finally:
        with _LOCK:
            _RUNNING.discard(process)
        if process.poll() is None:
            _kill(process)
            process.communicate()
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        code = process.returncode
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"status": RepositoryStatus.FAILED.value, "error": f"the process died ({how})"}
    return found


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass  # it has already ended
