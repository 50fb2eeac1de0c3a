"""The output of the bundled example in TensorFlow, stored by the texts of its files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from kept_answers import Harness

ROOT = Path(__file__).resolve().parents[3]
PROJECT = ROOT / "corpus" / "demo" / "project"
_SECONDS = re.compile(r"\d+\.\d+ s\b")
_DIGIT = re.compile(r"\d")
# another machine may sum in another order
RUNS = Harness("demo_runs", (Path(__file__),), lambda kept, seen: _DIGIT.sub("0", kept) == _DIGIT.sub("0", seen))


def printed(folder: Path) -> str:
    """The output of a project, without times; it must succeed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    texts = {path.relative_to(folder).as_posix(): path.read_bytes().hex() for path in files}
    return str(json.loads(RUNS.answer(json.dumps(texts), lambda: json.dumps(_run(folder)))))


def _run(folder: Path) -> str:
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
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
