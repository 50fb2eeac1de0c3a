"""Runs and measures a command.

Memory is that of all its processes together, read four times a second if available (Linux); otherwise that of the
largest of them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INTERVAL = 0.25
"""Seconds between two readings of the memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A finished command."""

    code: int | None
    """The exit code; None if it was stopped."""
    out: str
    err: str
    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all processes of the command."""
    memory: int
    """Bytes."""

    @property
    def costs(self) -> dict[str, float]:
        """The recorded part of the measurements."""
        return {"cpu": round(self.cpu, 1), "wall": round(self.wall, 1), "memory": round(self.memory / 2**20)}


def run(command: Sequence[str], folder: Path, timeout: float, environment: Mapping[str, str] | None = None) -> Measured:
    """Runs a command in a folder, with additions to the environment."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    peak = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        code: int | None = None
        while time.perf_counter() - started < timeout:
            try:
                code = process.wait(INTERVAL)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, memory_of(process.pid))
        else:
            process.kill()
            process.wait()
        wall = time.perf_counter() - started
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(code, texts[0], texts[1], wall, cpu, peak or after.ru_maxrss * 1024)


def run_module(arguments: Sequence[str], folder: Path, timeout: float) -> Measured:
    """Runs a module of this repository with this Python."""
    environment = {"PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    return run([sys.executable, "-m", *arguments], folder, timeout, environment)


def memory_of(pid: int) -> int:
    """Bytes that a process and its descendants use, with shared memory counted once; 0 if the system does not report it."""
    total = 0
    waiting = [pid]
    while waiting:
        process = Path("/proc") / str(waiting.pop())
        try:
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
            for task in (process / "task").iterdir():
                waiting.extend(int(child) for child in (task / "children").read_text().split())
        except (OSError, ValueError):
            continue  # it ended meanwhile
    return total
