"""Work that a copy of the process does: once, without a trace in the process itself, and only where there can be a copy."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from terra_refactor.workspace import copied_process
from terra_refactor.workspace.copied_process import start_copy

PROGRAM = """
import os, sys, time
from pathlib import Path
from terra_refactor.workspace.copied_process import start_copy

def work():
    time.sleep(0.2)
    Path("done").write_text(f"{os.getpid()} {state}")

def fails():
    raise ValueError("on purpose")

def endless():
    Path("began").write_text("")
    time.sleep(100)

state = "before"
print("never flushed twice", end="")
copy = start_copy(work, 2)
state = "after"
copy.wait()
copy.wait()
copy.end()
process, seen = Path("done").read_text().split()
assert int(process) != os.getpid() and seen == "before", (process, seen)
start_copy(fails, 2).wait()
copy = start_copy(endless, 2)
while not Path("began").exists():
    time.sleep(0.01)
copy.end()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_a_copy_does_its_work_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "never flushed twice"
    assert done.stderr.count("on purpose") == 1


def test_there_is_no_copy_for_one_processor_or_beside_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[int] = []
    monkeypatch.setattr("os.fork", lambda: forked.append(1) or 1, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(copied_process, "resident_bytes", lambda: 100)
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 1000)
    assert start_copy(list, 1) is None
    assert not forked
    assert start_copy(list, 2) is not None
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 200)
    assert start_copy(list, 2) is None
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 1000)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert start_copy(list, 2) is None
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    for platform in ("darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        assert start_copy(list, 2) is None
    assert forked == [1]
