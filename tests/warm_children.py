"""Children of `verify` that start with TensorFlow loaded: forks of one process that has loaded it and does nothing
else.

Loading takes three seconds, and most tests of `verify` are about what happens afterwards. `Warm.child` replaces
`verify.process._start`; a child that needs another environment from its start gets a new process, as do all children
in tests that do not request this. As a script: the waiting process; it reads requests from its input, one line of
JSON each.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONIOENCODING": "utf-8",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


class WarmChild:
    """The interface that `verify` needs for a process that it did not start."""

    def __init__(self, pid: int, ending: Path) -> None:
        self.pid = pid
        self._ending = ending

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal. Raises subprocess.TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ending.exists():
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a child", timeout or 0.0)
            time.sleep(0.005)
        return int(self._ending.read_text())


class Warm:
    """The waiting process, started when the first child is requested."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def child(self, bootstrap: Path, job: str, request: Mapping[str, Any], folder: Path) -> WarmChild:
        """A child that runs a job; see `verify.process._start`."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(bootstrap)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **ENVIRONMENT},
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder, delete=False, encoding="utf-8") as stream:
            json.dump(request, stream)
        for name in ("events.jsonl", "stdout", "stderr"):  # are read before the child runs
            (folder / name).touch()
        ending = Path(f"{stream.name}.ending")
        print(json.dumps([job, stream.name, str(folder), str(ending)]), file=self._process.stdin, flush=True)
        return WarmChild(int(self._process.stdout.readline()), ending)

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            with self._process:
                self._process.terminate()


# --- the process that waits ----------------------------------------------------------------------------------------------------------


def _reap(endings: dict[int, str]) -> None:
    """Records how children ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        ending = endings.pop(pid)
        with open(f"{ending}.part", "w", encoding="utf-8") as stream:
            stream.write(str(os.waitstatus_to_exitcode(status)))
        os.rename(f"{ending}.part", ending)


def _become(folder: str) -> None:
    """Turns this fork into a child, with its own session and streams."""
    os.setsid()
    streams = [os.open(os.devnull, os.O_RDONLY)]
    streams += [
        os.open(os.path.join(folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        for name in ("stdout", "stderr")
    ]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def wait_for_work(bootstrap: str) -> None:
    """Loads everything, and forks for each request."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != os.path.dirname(__file__)]
    names: dict[str, Any] = {"__name__": "bootstrap", "__file__": bootstrap}
    exec(compile(Path(bootstrap).read_text(encoding="utf-8"), bootstrap, "exec"), names)
    names["_register"]()
    import tensorflow  # noqa: F401, PLC0415 - the point of this process

    from terra_refactor.verify.child.main import main  # noqa: PLC0415 - of the package that was registered above

    gc.freeze()
    endings: dict[int, str] = {}

    def ended(_signal: int, _frame: FrameType | None) -> None:
        _reap(endings)

    signal.signal(signal.SIGCHLD, ended)
    for line in sys.stdin:
        job, request, folder, ending = json.loads(line)
        # the child may end before its id is known
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            _become(folder)
            sys.argv[:] = [bootstrap, job, request]
            code = 1
            try:
                code = main(job, request)
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 1
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        endings[pid] = ending
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        os.write(1, f"{pid}\n".encode())


if __name__ == "__main__":
    wait_for_work(sys.argv[1])
