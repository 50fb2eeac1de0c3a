"""The bundled example: `python -m corpus.demo` needs no TensorFlow and writes nothing; the example itself runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from demo_runs import PROJECT, ROOT, printed


def contents() -> dict[str, bytes]:
    files = (file for file in PROJECT.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file): file.read_bytes() for file in files}


def test_the_demo_shows_classification_and_diff(tmp_path: Path) -> None:
    blocker = tmp_path / "tensorflow"
    blocker.mkdir()
    (blocker / "__init__.py").write_text("raise ImportError('the analyser must not need this')\n")
    before = contents()
    finished = subprocess.run(
        [sys.executable, "-m", "corpus.demo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "$ terra-refactor analyze ." in finished.stdout
    assert "functions in 7 files" in finished.stdout
    assert "+    @tf.function\n     def train_step(self, inputs, targets):" in finished.stdout
    assert contents() == before


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_example_runs() -> None:
    pytest.importorskip("tensorflow")
    output = printed(PROJECT)
    assert output.count("skill") == 3
    assert "gauge: 5 windows" in output
