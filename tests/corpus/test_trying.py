"""Trying finds the functions that would pay as graphs, whatever the analysis says of them, and none that would break the program."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import warm_programs

import corpus.trying
from corpus.expectations import Program
from corpus.trying import SHARE, Try, tried
from terra_refactor.verify.verdict import Limits, Script
from terra_refactor.workspace.results import FixReport
from terra_refactor.workspace.workspace import Options, analyze

PROGRAM = """\
import tensorflow as tf


def work(x):
    for _ in range(40):
        x = tf.tanh(x) * 0.5 + x
    return x


def told(x):
    return float(tf.reduce_sum(work(x)))


def main():
    total = 0.0
    for _ in range(200):
        total += told(tf.ones([4]))
    print(round(total, 2))


if __name__ == "__main__":
    main()
"""


def entry(**changes: object) -> Try:
    values = {"function": "a.py:f", "classification": "safe", "share": 0.5, "ratio": 2.0, "difference": None}
    return Try(**(values | changes))  # type: ignore[arg-type]


def test_what_pays_is_faster_and_the_same() -> None:
    assert entry().pays
    assert not entry(ratio=1 + SHARE).pays
    assert not entry(difference="output: 1 in place of 2").pays
    assert not entry(ratio=None).pays


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.usefixtures("warm_children")
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow")
def test_each_function_that_takes_time_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changes_nothing(paths: list[str], options: Options) -> FixReport:
        return FixReport(analyze(paths, options), ())

    def run(command: list[str], **options: Any) -> Any:
        assert command[:2] == [sys.executable, "-c"]
        return subprocess.run(warm_programs.with_tensorflow(*command[2:]), **options)

    monkeypatch.setattr(corpus.trying, "fix", changes_nothing)
    copies = SimpleNamespace(run=run, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(corpus.trying, "subprocess", copies)
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "run.py").write_text(PROGRAM)
    found = {each["function"]: each for each in tried(Program("program", folder, "a loop", "run.py", ()))}
    assert set(found) == {"run.py:work", "run.py:told", "run.py:main"}
    assert found["run.py:work"]["pays"]
    assert found["run.py:work"]["share"] > 0.5
    for name in ("run.py:told", "run.py:main"):
        assert not found[name]["pays"] and found[name]["difference"]


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow")
def test_a_failure_says_what_happened_and_not_where(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    without = tmp_path / "without TensorFlow"
    folder.mkdir()
    without.mkdir()
    text = "import tensorflow as tf\n\n@tf.function\ndef f(x):\n    return x.numpy()\n\n"
    (folder / "fails.py").write_text(text + "f(tf.ones([]))\n")
    (without / "tensorflow.py").touch()  # is loaded in each run
    (without / "ends.py").write_text("raise SystemExit(3)\n")
    (without / "opens.py").write_text(f"open({str(without / 'missing')!r})\n")
    (without / "fine.py").write_text("print(sum(range(1000)))\n")

    def ran(file: Path) -> corpus.trying._Ran:
        script = Script(file.name, str(file), None, ())
        return corpus.trying._run(script, file.parent, tmp_path / f"{file.name}.json", Limits(run_seconds=120))

    failed = ran(folder / "fails.py")
    assert failed.cpu is None
    assert failed.failure is not None
    assert failed.failure.startswith("AttributeError: ")
    assert "in user code" not in failed.failure
    assert ran(without / "ends.py").failure == "exit code 3"
    assert ran(without / "opens.py").failure == "FileNotFoundError: [Errno 2] No such file or directory: 'missing'"
    fine = ran(without / "fine.py")
    assert fine.failure is None
    assert fine.cpu is not None
