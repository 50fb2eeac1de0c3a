"""Files that one worker makes and the other workers of the run use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(name: str, make: Callable[[], Path], factory: pytest.TempPathFactory) -> Path:
    """A copy of the file that `make` returns; the first worker that asks for the name makes it, the others wait."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all workers of this run
    folder = folder / f"shared {name}"
    folder.mkdir(exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        if os.name == "posix":
            import fcntl  # noqa: PLC0415 - elsewhere each worker makes its own

            fcntl.flock(lock, fcntl.LOCK_EX)
        found = [path for path in folder.iterdir() if path.name != ".lock"]
        if not found:
            made = make()
            part = folder.with_name(f"{folder.name}.{os.getpid()}")
            part.write_bytes(made.read_bytes())
            found = [part.rename(folder / made.name)]
    return found[0]
