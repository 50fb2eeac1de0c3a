"""The set of proposed changes, applied to the bundled project and run in TensorFlow: the output is what it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import warm_programs
from demo_runs import PROJECT, ROOT, printed


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("level", ["safe", "speculative"])
def test_the_project_prints_what_it_printed(level: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(PROJECT, before)
    shutil.copytree(PROJECT, after)
    command = warm_programs.tool("fix", "--no-cache", "--level", level, "--write", ".")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=after, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    changed = [
        path
        for path in sorted(before.rglob("*.py"))
        if path.read_text() != (after / path.relative_to(before)).read_text()
    ]
    assert changed, "nothing was changed: the comparison would show nothing"
    assert printed(after) == printed(before)
