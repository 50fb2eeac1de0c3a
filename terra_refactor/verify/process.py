"""One supervised child process: whether it prints, exits, forks, hangs or allocates, it affects only itself.

Computes: how the process ended. Needs: the interpreter, the request and the limits. Gives: `run_child`; `Child`, for
one that waits before it runs its job; `Ended`, `CancelledError`.

The child leads its own session, and when it ends or is stopped, all processes of that session are killed. Its output
goes to files; its results go to other files that only our code writes. Nothing is read from pipes, so nothing can
block.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from terra_refactor.errors import TerraError

BOOTSTRAP: Final = Path(__file__).parents[1] / "bootstrap.py"
_CHILD: Final = "terra_refactor.verify.child.main"
_POLL: Final = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: by itself with an exit code, by a signal, or stopped by us, with the reason."""

    code: int | None
    stopped: str | None

    @property
    def description(self) -> str:
        """For a message."""
        if self.stopped is not None:
            return self.stopped
        if self.code is not None and self.code < 0:
            with contextlib.suppress(ValueError):
                return f"the process was killed by {signal.Signals(-self.code).name}"
        return f"the process ended with exit code {self.code}"


class CancelledError(TerraError):
    """The caller cancelled; the process has ended."""


def never() -> bool:
    """Never cancelled."""
    return False


def run_child(
    python: str,
    job: str,
    request: Mapping[str, Any],
    folder: Path,
    *,
    seconds: float,
    idle: float | None,
    output: int,
    cancelled: Callable[[], bool] = never,
) -> Ended:
    """Runs a job (see `child.main`) and waits for its end.

    `idle` is the maximum time between two events; `cancelled` is called while it runs. Raises OSError if the
    interpreter cannot be started, CancelledError if it was cancelled.
    """
    with Child(python, job, request, folder, output, cancelled) as child:
        return child.end(seconds, idle)


class Child:
    """A child process; a context manager that kills it at the end if it still runs.

    Raises OSError if the interpreter cannot be started; its methods raise CancelledError when `cancelled` returns
    True.
    """

    def __init__(
        self,
        python: str,
        job: str,
        request: Mapping[str, Any],
        folder: Path,
        output: int,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        self._folder = folder
        self._output = output
        self._cancelled = cancelled
        self._process = _start(python, job, request, folder)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        _end(self._process)

    def end(self, seconds: float, idle: float | None = None) -> Ended:
        """Waits for its end, at most this long; `idle` is the maximum time between two events."""
        ended = _wait(self._process, self._folder, seconds, idle, self._output, None, self._cancelled)
        assert ended is not None
        return ended

    def first_event(self, seconds: float) -> Ended | None:
        """Waits until it writes an event or ends; returns how it ended if it did."""
        events = self._folder / "events.jsonl"
        return _wait(self._process, self._folder, seconds, None, self._output, events, self._cancelled)


def _start(python: str, job: str, request: Mapping[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder, delete=False, encoding="utf-8") as stream:
        json.dump(request, stream)
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
        **request.get("environment", {}),
    }
    events = folder / "events.jsonl"
    events.touch()
    with open(folder / "stdout", "ab") as out, open(folder / "stderr", "ab") as err:
        return subprocess.Popen(
            [python, str(BOOTSTRAP), _CHILD, job, stream.name],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            start_new_session=True,
        )


def _wait(
    child: subprocess.Popen[bytes],
    folder: Path,
    seconds: float,
    idle: float | None,
    output: int,
    until_written: Path | None,
    cancelled: Callable[[], bool],
) -> Ended | None:
    """The outcome of the child; None if it still runs, and the awaited file is no longer empty."""
    started = time.monotonic()
    changed, size = started, -1
    while True:
        try:
            return Ended(child.wait(_POLL), None)
        except subprocess.TimeoutExpired:
            pass
        if cancelled():
            raise CancelledError("cancelled")
        if until_written is not None and until_written.stat().st_size:
            return None
        now = time.monotonic()
        if now - started > seconds:
            return Ended(None, f"it was stopped after {seconds:.0f} s")
        written = (folder / "events.jsonl").stat().st_size
        if written != size:
            changed, size = now, written
        if idle is not None and now - changed > idle:
            return Ended(None, f"it was stopped after {idle:.0f} s in which no call ended")
        if sum((folder / name).stat().st_size for name in ("stdout", "stderr")) > output:
            return Ended(None, f"it was stopped after printing {output >> 20} MB")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kills what is left of the session; the child's id is that of its group, and is not reused while the group exists."""
    for kill in _kills(child):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(10)


def _kills(child: subprocess.Popen[bytes]) -> list[Callable[[], None]]:
    if os.name == "posix":
        return [lambda: os.killpg(child.pid, signal.SIGKILL)]
    return [child.kill]
