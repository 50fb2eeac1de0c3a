"""The set of proposed changes, applied to the bundled project and run in TensorFlow: the output is what it was."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROJECT = ROOT / "corpus" / "demo" / "project"
_SECONDS = re.compile(r"\d+\.\d+ s\b")


def _run(folder: Path) -> str:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "forecast.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return _SECONDS.sub("? s", done.stdout)


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("level", ["safe", "speculative"])
def test_the_project_prints_what_it_printed(level: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(PROJECT, before)
    shutil.copytree(PROJECT, after)
    command = [sys.executable, "-m", "terra_refactor", "fix", "--no-cache", "--level", level, "--write", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=after, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    changed = [
        path
        for path in sorted(before.rglob("*.py"))
        if path.read_text() != (after / path.relative_to(before)).read_text()
    ]
    assert changed, "nothing was changed: the comparison would show nothing"
    assert _run(after) == _run(before)
