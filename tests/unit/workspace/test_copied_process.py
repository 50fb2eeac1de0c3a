"""Work that a copy of the process does: once, without a trace in the process itself, and only where there can be a copy."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from terra_refactor.workspace import copied_process
from terra_refactor.workspace.copied_process import start_copy

PROGRAMS = Path(__file__).parents[3] / "corpus" / "programs"
SHOWN = """
import sys, threading
from rich.live import Live
from terra_refactor.cli import output
from terra_refactor.workspace.copied_process import start_copy

output.err = lambda: output._console(sys.stderr)
output._HarmlessConsole.is_terminal = True
output._HarmlessConsole.is_dumb_terminal = False
sys.stderr.isatty = lambda: True
output._PATIENCE = 0.0
with output.progress_callback(quiet=False) as progress:
    progress("reading", 1, 2)
    while not any(type(thread).__module__ == "rich.live" for thread in threading.enumerate()):
        pass
    start_copy(list, 2).wait()
output._PATIENCE = 60.0
with output.progress_callback(quiet=False):
    while threading.active_count() != 2:  # the thread that drew the other bar may not have ended
        pass
    start_copy(list, 2).wait()
waits = threading.Event()
threading.Thread(target=waits.wait).start()
assert start_copy(list, 2) is None
waits.set()
"""
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


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_the_bar_of_progress_forbids_no_copy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SHOWN], cwd=tmp_path, check=True, timeout=60)


def test_there_is_no_copy_for_one_processor_or_beside_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[int] = []
    monkeypatch.setattr("os.fork", lambda: forked.append(1) or 1, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    here, other = threading.current_thread(), threading.Thread(name="another")
    threads = [here]
    monkeypatch.setattr(threading, "enumerate", lambda: threads)
    monkeypatch.setattr(copied_process, "resident_bytes", lambda: 100)
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 1000)
    assert start_copy(list, 1) is None
    assert not forked
    assert start_copy(list, 2) is not None
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 200)
    assert start_copy(list, 2) is None
    monkeypatch.setattr(copied_process, "memory_for_analyses", lambda: 1000)
    threads.append(other)
    assert start_copy(list, 2) is None
    threads.remove(other)
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


KILLED = """
import os, signal, time
from terra_refactor.config import Config
from terra_refactor.workspace import judged_component
from terra_refactor.workspace.copied_process import Checkpoints
from terra_refactor.workspace.workspace import Options, analyze

is_copy, copies = Checkpoints.is_copy, []

def noted(checkpoints):
    if is_copy(checkpoints):
        return True
    while not checkpoints._copy.has_ended():
        time.sleep(0.01)
    copies.append(checkpoints)
    if len(copies) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return False

Checkpoints.is_copy = noted
judged_component._SECONDS_BETWEEN_CHECKPOINTS, judged_component.processors_for = 0.0, lambda jobs: jobs
analyze(["."], Options(Config(jobs=2)))
"""
RESUMED = """
from terra_refactor.config import Config
from terra_refactor.workspace import kept_analysis
from terra_refactor.workspace.workspace import Options, analyze

resumed, resumed_judge = [], kept_analysis.resumed_judge

def woken(*given):
    resumed.append(resumed_judge(*given))
    return resumed[-1]

kept_analysis.resumed_judge = woken

def told(**options):
    report = analyze(["."], Options(Config(jobs=1), **options))
    return report.decisions, report.findings, report.regions

assert told() == told(use_cache=False)
kept = [judge.kept_contexts for judge in resumed if judge is not None]
assert kept and max(kept) > 5, kept
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_a_run_that_is_killed_leaves_what_it_has_finished(tmp_path: Path) -> None:
    shutil.copytree(PROGRAMS / "layers_library", tmp_path / "work")
    environment = {**os.environ, "TERRA_REFACTOR_CACHE_DIR": str(tmp_path / "cache")}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path / "work", env=environment, check=False, timeout=120
    )
    assert killed.returncode == -signal.SIGKILL
    subprocess.run([sys.executable, "-c", RESUMED], cwd=tmp_path / "work", env=environment, check=True, timeout=120)
