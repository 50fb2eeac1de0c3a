"""Work that a copy of the process does: once, without a trace in the process itself, and only where there can be a copy."""

from __future__ import annotations

import os
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


TRAINING = """
import tensorflow as tf

w = tf.Variable(tf.ones([8, 8]))
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)

def model(x):
    for _ in range(4):
        x = tf.tanh(x @ w)
    return x

for epoch in range(20):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
"""
KEPT_BY_A_COPY = """
import sys
from pathlib import Path
from terra_refactor.config import Config
from terra_refactor.workspace import copied_process, judged_component, kept_analysis
from terra_refactor.workspace.workspace import Options, analyze

copies, resumed = [], []
start_copy, resumed_judge = judged_component.start_copy, kept_analysis.resumed_judge

def noted(work, processors):
    copies.append(start_copy(work, processors))
    return copies[-1]

def woken(*given):
    resumed.append(resumed_judge(*given) is not None)
    return resumed_judge(*given)

judged_component.start_copy, judged_component.processors_for = noted, lambda jobs: jobs
kept_analysis.resumed_judge = woken

def told(jobs, use_cache=True):
    report = analyze(["."], Options(Config(jobs=jobs), use_cache=use_cache))
    return report.decisions, report.findings, report.regions

assert told(2) == told(1, use_cache=False)
assert len(copies) == 1 and copies[0] is not None and resumed == [False]
train = Path("train.py")
train.write_text(train.read_text().replace("range(20)", "range(30)"))
assert told(2) == told(1, use_cache=False)
assert resumed == [False, True]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_a_copy_keeps_the_analysis_while_steps_are_extracted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", KEPT_BY_A_COPY],
        cwd=tmp_path,
        env={**os.environ, "TERRA_REFACTOR_CACHE_DIR": str(tmp_path / "cache")},
        check=True,
        timeout=120,
    )
