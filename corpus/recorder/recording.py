"""Runs a program under `observe.py` in a separate process, and stores the recording together with its sources."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("parameters", "returns", "containers", "arrays")


def record(root: Path, output: Path, command: list[str], python: str, eager: bool, printed: Path | None = None) -> int:
    """Runs a program in a child and writes the recording, with its root; returns the child's exit code.

    The program's output goes to the file `printed`, or to this process's output.
    """
    raw = output.with_suffix(".raw")
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    arguments = [
        python,
        str(HERE / "observe.py"),
        str(root.resolve()),
        str(raw.resolve()),
        *(["--eager"] if eager else []),
        *command,
    ]
    with open(printed, "wb") if printed is not None else nullcontext() as stream:
        finished = subprocess.run(arguments, cwd=root, env=environment, stdout=stream, stderr=stream, check=False)
    if not raw.exists():
        raise SystemExit(f"error: {' '.join(command)} ended with {finished.returncode} and left no recording")
    content = {
        "root": str(root.resolve()),
        "command": command,
        "exit": finished.returncode,
        **json.loads(raw.read_text()),
    }
    raw.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    raw.replace(output)
    return finished.returncode
